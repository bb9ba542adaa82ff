//! How the arguments of a call are bound to the parameters of a function.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::errors::type_error;
use crate::ffi::{self, RefVec, new_dict, tuple_of};
use crate::limits::{Grow, gathered};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    PositionalOnly,
    Positional,
    VarPositional,
    KeywordOnly,
    VarKeyword,
}

impl Kind {
    /// By the numbers of `inspect.Parameter.kind`.
    const ALL: [Self; 5] =
        [Self::PositionalOnly, Self::Positional, Self::VarPositional, Self::KeywordOnly, Self::VarKeyword];

    fn takes_position(self) -> bool {
        matches!(self, Self::PositionalOnly | Self::Positional)
    }
}

struct Parameter {
    kind: Kind,
    default: Option<Py<PyAny>>,
}

/// The parameters of a function, in their order.
pub(super) struct Signature {
    /// What messages call the function.
    function: String,
    /// The names of the parameters, which are interned.
    pub(super) names: Py<PyTuple>,
    parameters: Vec<Parameter>,
    /// How many of them, the first ones, take an argument by its position.
    positions: usize,
    /// Every parameter does: the arguments of a call without keywords are bound as they are.
    is_plain: bool,
}

impl Signature {
    /// Reads an `inspect.Signature`.
    pub(super) fn of(signature: &Bound<'_, PyAny>, function: String) -> PyResult<Self> {
        let py = signature.py();
        let unfit = || {
            let found = crate::errors::quote(signature);
            type_error(py, &format!("signature must be an inspect.Signature, got {found}"))
        };
        let given = signature.getattr_opt(intern!(py, "parameters"))?.ok_or_else(unfit)?;
        let given = given.call_method0(intern!(py, "values"))?;
        let (mut names, mut parameters) = (RefVec::default(), Vec::new());
        for parameter in given.try_iter()? {
            let parameter = parameter?;
            let kind: usize = parameter.getattr(intern!(py, "kind"))?.extract()?;
            let default = parameter.getattr(intern!(py, "default"))?;
            let is_empty = default.is(&parameter.getattr(intern!(py, "empty"))?);
            let name = parameter.getattr(intern!(py, "name"))?;
            names.push(ffi::interned(name.cast_into::<PyString>()?.into_any()))?;
            let kind = Kind::ALL.get(kind).copied().ok_or_else(unfit)?;
            parameters.grow(Parameter { kind, default: (!is_empty).then(|| default.unbind()) })?;
        }
        let names = ffi::tuple_from(py, &mut names, 0)?.unbind();
        let positions = parameters.iter().take_while(|parameter| parameter.kind.takes_position()).count();
        let is_plain = positions == parameters.len();
        Ok(Self { function, names, parameters, positions, is_plain })
    }

    /// The values of the parameters, in their order: `*args` is a tuple among them, `**kwargs` a dict.
    #[inline]
    pub(super) fn bind<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        if self.is_plain
            && args.len() == self.positions
            && kwargs.is_none_or(PyDictMethods::is_empty)
            && ffi::type_address(ffi::raw(args)) == ffi::tuple_address()
        {
            return Ok(args.clone());
        }
        self.bind_others(args, kwargs)
    }

    fn bind_others<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let py = args.py();
        let mut values: Vec<Option<Bound<'py, PyAny>>> = gathered(args.iter().take(self.positions).map(Some))?;
        values.grow_by((values.len()..self.parameters.len()).map(|_| None))?;
        let given = kwargs.map_or_else(|| Ok(Vec::new()), |kwargs| ffi::dict_entries(kwargs.as_any()))?;
        let extra = match self.place_of_kind(Kind::VarKeyword) {
            Some(place) => {
                let extra = new_dict(py, 0)?;
                values[place] = Some(extra.clone().into_any());
                Some(extra)
            }
            None => None,
        };
        for (name, value) in &given {
            match self.place_of(py, name)? {
                Some(place) if values[place].is_some() => return Err(self.multiple_values(name)),
                Some(place) => values[place] = Some(value.clone()),
                None => match &extra {
                    Some(extra) => extra.set_item(name, value)?,
                    None => return Err(self.unexpected(py, name, &given)),
                },
            }
        }
        if let Some(place) = self.place_of_kind(Kind::VarPositional) {
            values[place] = Some(tuple_of(py, args.iter().skip(self.positions))?.into_any());
        } else if args.len() > self.positions {
            return Err(self.too_many(args.len(), &values));
        }
        self.with_defaults(py, values)
    }

    fn with_defaults<'py>(
        &self,
        py: Python<'py>,
        values: Vec<Option<Bound<'py, PyAny>>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (mut bound, mut missing) = (RefVec::with_room(values.len())?, Vec::new());
        for (place, value) in values.into_iter().enumerate() {
            let default = || self.parameters[place].default.as_ref().map(|default| default.bind(py).clone());
            match value.or_else(default) {
                Some(value) => bound.push(value)?,
                None => missing.grow(place)?,
            }
        }
        if missing.is_empty() { ffi::tuple_from(py, &mut bound, 0) } else { Err(self.missing(py, &missing)) }
    }

    fn place_of_kind(&self, kind: Kind) -> Option<usize> {
        self.parameters.iter().position(|parameter| parameter.kind == kind)
    }

    /// The parameter that takes an argument by this name.
    fn place_of(&self, py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        let place = self.place_of_name(py, name)?;
        Ok(place.filter(|place| matches!(self.parameters[*place].kind, Kind::Positional | Kind::KeywordOnly)))
    }

    fn place_of_name(&self, py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        let names = self.names.bind(py);
        if let Some(place) = names.iter_borrowed().position(|known| known.is(name)) {
            return Ok(Some(place));
        }
        if !name.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err("keywords must be strings"));
        }
        let text = name.cast::<PyString>()?.to_string_lossy();
        Ok(names.iter().position(|known| known.cast::<PyString>().is_ok_and(|known| known.to_string_lossy() == text)))
    }

    fn name_of(&self, py: Python<'_>, place: usize) -> String {
        self.names.bind(py).get_item(place).map_or_else(|_| String::new(), |name| name.to_string())
    }

    #[cold]
    fn multiple_values(&self, name: &Bound<'_, PyAny>) -> PyErr {
        PyTypeError::new_err(format!("{}() got multiple values for argument '{name}'", self.function))
    }

    /// The error for a keyword that no parameter takes; Python looks for names of positional-only ones first.
    #[cold]
    fn unexpected<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyAny>,
        given: &[(Bound<'py, PyAny>, Bound<'py, PyAny>)],
    ) -> PyErr {
        let is_given = |place: &usize| {
            self.parameters[*place].kind == Kind::PositionalOnly
                && given
                    .iter()
                    .any(|(name, _)| matches!(self.place_of_name(py, name), Ok(Some(found)) if found == *place))
        };
        let names: Vec<String> = (0..self.positions).filter(is_given).map(|place| self.name_of(py, place)).collect();
        PyTypeError::new_err(if names.is_empty() {
            format!("{}() got an unexpected keyword argument '{name}'", self.function)
        } else {
            format!(
                "{}() got some positional-only arguments passed as keyword arguments: '{}'",
                self.function,
                names.join(", ")
            )
        })
    }

    #[cold]
    fn too_many(&self, given: usize, values: &[Option<Bound<'_, PyAny>>]) -> PyErr {
        let required = self.parameters[..self.positions].iter().filter(|parameter| parameter.default.is_none()).count();
        let takes = if required == self.positions {
            self.positions.to_string()
        } else {
            format!("from {required} to {}", self.positions)
        };
        let plural = if self.positions == 1 && required == self.positions { "" } else { "s" };
        let by_keyword = (self.positions..self.parameters.len())
            .filter(|place| self.parameters[*place].kind == Kind::KeywordOnly && values[*place].is_some())
            .count();
        let mut were = format!("{given} {} given", if given == 1 { "was" } else { "were" });
        if by_keyword > 0 {
            let of_given = if given == 1 { "" } else { "s" };
            let of_keywords = if by_keyword == 1 { "" } else { "s" };
            were = format!(
                "{given} positional argument{of_given} (and {by_keyword} keyword-only argument{of_keywords}) were given"
            );
        }
        PyTypeError::new_err(format!("{}() takes {takes} positional argument{plural} but {were}", self.function))
    }

    #[cold]
    fn missing(&self, py: Python<'_>, missing: &[usize]) -> PyErr {
        let of_position = |place: &&usize| self.parameters[**place].kind.takes_position();
        let positional: Vec<String> =
            missing.iter().filter(of_position).map(|place| format!("'{}'", self.name_of(py, *place))).collect();
        let (kind, names) = if positional.is_empty() {
            ("keyword-only", missing.iter().map(|place| format!("'{}'", self.name_of(py, *place))).collect())
        } else {
            ("positional", positional)
        };
        let plural = if names.len() == 1 { "" } else { "s" };
        let list = match names.as_slice() {
            [] => String::new(),
            [one] => one.clone(),
            [one, two] => format!("{one} and {two}"),
            [first @ .., last] => format!("{}, and {last}", first.join(", ")),
        };
        PyTypeError::new_err(format!(
            "{}() missing {} required {kind} argument{plural}: {list}",
            self.function,
            names.len()
        ))
    }

    /// The arguments of a call whose parameters have these values.
    pub(super) fn unbind<'py>(
        &self,
        values: &Bound<'py, PyTuple>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let py = values.py();
        if values.len() != self.parameters.len() {
            return Err(PyValueError::new_err("a value is needed for every parameter"));
        }
        let (mut args, kwargs) = (RefVec::with_room(self.positions)?, new_dict(py, 0)?);
        for ((parameter, value), name) in self.parameters.iter().zip(values.iter()).zip(self.names.bind(py).iter()) {
            match parameter.kind {
                Kind::PositionalOnly | Kind::Positional => args.push(value)?,
                Kind::VarPositional => value.cast::<PyTuple>()?.iter().try_for_each(|value| args.push(value))?,
                Kind::KeywordOnly => kwargs.set_item(name, value)?,
                Kind::VarKeyword => kwargs.update(value.cast::<PyDict>()?.as_mapping())?,
            }
        }
        Ok((ffi::tuple_from(py, &mut args, 0)?, kwargs))
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.names)?;
        self.parameters.iter().try_for_each(|parameter| visit.call(&parameter.default))
    }
}
