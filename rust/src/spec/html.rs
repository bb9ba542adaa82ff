//! The form of a structure for notebooks: containers that can be opened and closed.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::entries::key_text;
use super::{Graph, node_name};
use crate::errors::{counted, printable, shorten, show};
use crate::limits::{Grow, Interrupts, all_of, write};
use crate::structure::Kind;

/// How much a page holds: what is beyond is left out.
const MOST_LINES: usize = 500;
const DEEPEST: usize = 50;
const MOST_KEYS: usize = 12;
/// How many levels are open at first, in the first lines of the page.
const OPEN_LEVELS: usize = 3;
const OPEN_LINES: usize = 40;
/// So many siblings in a row that are alike are one line; names say something, so they are left out later than places.
const SHORTEST_RUN: usize = 3;
const SHORTEST_RUN_OF_NAMES: usize = 11;

/// A container whose children are being written: its node, the next child's node, and that child's place.
struct Open {
    node: usize,
    next: usize,
    child: usize,
}

impl Graph {
    /// The structure as HTML, of a bounded size.
    pub(crate) fn html(&self, py: Python<'_>) -> PyResult<String> {
        let mut page = Page { graph: self, text: String::new(), lines: 0, interrupts: Interrupts::new() };
        let mode = if self.none_is_leaf { "" } else { ", none_is_leaf=False" };
        if self.is_leaf() {
            page.line("TreeSpec", &format!("a leaf{mode}"))?;
            return Ok(page.text);
        }
        let what = format!("{}{mode}", page.what(py, 0)?);
        page.heading(0, "TreeSpec", &what)?;
        let mut open = vec![Open { node: 0, next: 1, child: 0 }];
        while let Some(mut top) = open.pop() {
            if top.next == top.node + self.nodes[top.node].span as usize {
                write(&mut page.text, "</div></details>")?;
            } else if page.lines >= MOST_LINES {
                page.line("…", "")?;
                for _ in 0..=open.len() {
                    write(&mut page.text, "</div></details>")?;
                }
                break;
            } else {
                let below = page.child(py, &mut top, open.len() + 1)?;
                open.grow(top)?;
                if let Some(node) = below {
                    open.grow(Open { node, next: node + 1, child: 0 })?;
                }
            }
        }
        Ok(page.text)
    }
}

struct Page<'a> {
    graph: &'a Graph,
    text: String,
    lines: usize,
    interrupts: Interrupts,
}

impl Page<'_> {
    /// Writes the next child of a container, or a row of them; the node whose children come next, where it has some.
    fn child(&mut self, py: Python<'_>, parent: &mut Open, depth: usize) -> PyResult<Option<usize>> {
        let nodes = &self.graph.nodes;
        let (index, first, node) = (parent.next, parent.child, &nodes[parent.next]);
        if node.is_leaves() {
            let label = self.labels(py, parent.node, first, node.arity as usize)?;
            parent.next += 1;
            parent.child += node.arity as usize;
            self.line(&label, if node.arity == 1 { "leaf" } else { "leaves" })?;
            return Ok(None);
        }
        let alike = self.how_many_alike(py, parent)?;
        let shortest = if is_sequence(nodes[parent.node].kind) { SHORTEST_RUN } else { SHORTEST_RUN_OF_NAMES };
        let count = if alike >= shortest { alike } else { 1 };
        parent.next += count * node.span as usize;
        parent.child += count;
        let label = if count == 1 || is_sequence(nodes[parent.node].kind) {
            self.labels(py, parent.node, first, count)?
        } else {
            let last = self.labels(py, parent.node, first + count - 1, 1)?;
            format!("{} … {last} ({count} alike)", self.labels(py, parent.node, first, 1)?)
        };
        let what = self.what(py, index)?;
        if node.arity == 0 || depth >= DEEPEST {
            self.line(&label, &format!("{what}{}", if node.arity == 0 { "" } else { " …" }))?;
            return Ok(None);
        }
        self.heading(depth, &label, &what)?;
        Ok(Some(index))
    }

    /// How many children, from the next one on, have one structure.
    fn how_many_alike(&mut self, py: Python<'_>, parent: &Open) -> PyResult<usize> {
        let nodes = &self.graph.nodes;
        let (end, span) = (parent.node + nodes[parent.node].span as usize, nodes[parent.next].span as usize);
        let mut count = 1;
        while parent.next + count * span < end && self.is_alike(py, parent.next, parent.next + count * span)? {
            count += 1;
        }
        Ok(count)
    }

    fn is_alike(&mut self, py: Python<'_>, one: usize, other: usize) -> PyResult<bool> {
        let nodes = &self.graph.nodes;
        if nodes[one].span != nodes[other].span {
            return Ok(false);
        }
        for offset in 0..nodes[one].span as usize {
            match self.graph.same_node(py, one + offset, self.graph, other + offset, &mut self.interrupts) {
                Ok(true) => {}
                // A context that can't be compared is like no other.
                Err(error) if !error.is_instance_of::<PyException>(py) => return Err(error),
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// The keys of neighbouring children: `[0…11]`, `['a'], ['b']`.
    fn labels(&self, py: Python<'_>, parent: usize, first: usize, count: usize) -> PyResult<String> {
        let node = &self.graph.nodes[parent];
        if count >= SHORTEST_RUN && is_sequence(node.kind) {
            return Ok(format!("[{first}…{}]", first + count - 1));
        }
        let key = |child| key_text(py, node, self.graph.slots.as_slice(), child).map(|words| shorten(&words));
        let mut keys = all_of((first..first + count.min(MOST_KEYS)).map(key))?;
        if count > MOST_KEYS {
            keys.push(format!("and {} more", count - MOST_KEYS));
        }
        Ok(keys.join(", "))
    }

    /// A container in words.
    fn what(&mut self, py: Python<'_>, index: usize) -> PyResult<String> {
        let (graph, node) = (self.graph, &self.graph.nodes[index]);
        self.interrupts.after(py, node.span as usize)?;
        let name = node_name(py, node, graph.slots_of(node));
        let slot = |number| graph.slot(py, node, number).filter(|value| !value.is_none());
        let context = match node.kind {
            Kind::None => return Ok(name),
            Kind::Static => return slot(1).map_or(Ok(name), |value| show(&value)),
            Kind::Dataclass => {
                let field = |(field, value): (Bound<'_, PyString>, _)| {
                    show(&value).map(|value| format!(" {}={value}", field.to_string_lossy()))
                };
                all_of(graph.meta_fields(py, node).map(field))?.concat()
            }
            Kind::Custom | Kind::DefaultDict | Kind::Deque => {
                let place = usize::from(node.kind == Kind::Custom);
                slot(place).map_or(Ok(String::new()), |value| show(&value).map(|value| format!(" {value}")))?
            }
            _ => String::new(),
        };
        let leaves: usize = graph.nodes[index..index + node.span as usize]
            .iter()
            .filter(|node| node.is_leaves())
            .map(|node| node.arity as usize)
            .sum();
        let (children, leaves) = (counted(node.arity as usize, "child", "children"), counted(leaves, "leaf", "leaves"));
        Ok(format!("{name}{context}: {children}, {leaves}"))
    }

    fn line(&mut self, label: &str, what: &str) -> PyResult<()> {
        self.lines += 1;
        let between = if what.is_empty() { "" } else { " " };
        write(&mut self.text, &format!("<div><code>{}</code>{between}{}</div>", escaped(label), escaped(what)))
    }

    fn heading(&mut self, depth: usize, label: &str, what: &str) -> PyResult<()> {
        self.lines += 1;
        let open = if depth < OPEN_LEVELS && self.lines <= OPEN_LINES { " open" } else { "" };
        write(
            &mut self.text,
            &format!(
                "<details{open}><summary><code>{}</code> {}</summary><div style=\"margin-left:1.5em\">",
                escaped(label),
                escaped(what)
            ),
        )
    }
}

fn is_sequence(kind: Kind) -> bool {
    matches!(kind, Kind::List | Kind::Tuple | Kind::Deque)
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in printable(text).chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#x27;"),
            char => safe.push(char),
        }
    }
    safe
}
