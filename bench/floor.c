/* The least that an engine with a node for every leaf can do, as a yardstick: read every container once, collect the
 * leaves, note kind, arity and keys of each node and hash them on the way.
 *
 * It knows lists, tuples, dicts and namedtuples. It has no registry, no options, no words for an error, no guard against
 * depth and none against trees that change under it: no engine can be used like this.
 *
 *   flatten(tree)           (leaves, spec)
 *   match(spec, tree)       the leaves, or None where the structure is another
 *   unflatten(spec, leaves) a tree
 *   map(function, tree)     a tree, without a spec
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

enum kind { LEAF, LIST, TUPLE, NAMED, DICT };

/* A leaf or a container with `count` children. */
typedef struct {
    uint32_t kind, count;
} Node;

typedef struct {
    void *items;
    Py_ssize_t used, room;
} Array;

typedef struct {
    PyObject_HEAD
    Array nodes, keys; /* keys of dicts and classes of namedtuples, in the order of the nodes */
    Py_ssize_t leaves;
    uint64_t hash;
} Spec;

static PyTypeObject SpecType;

static inline Py_ssize_t take(Array *array, Py_ssize_t count, size_t size)
{
    Py_ssize_t at = array->used;
    if (at + count > array->room) {
        array->room = 2 * (at + count) + 30;
        array->items = realloc(array->items, array->room * size);
        if (!array->items)
            Py_FatalError("the floor is out of memory");
    }
    array->used += count;
    return at;
}

static inline void stir(Spec *spec, uint64_t word)
{
    spec->hash = (spec->hash ^ word) * 0x9fb21c651e98df25u;
    spec->hash ^= spec->hash >> 32;
}

static inline void note(Spec *spec, enum kind kind, Py_ssize_t count)
{
    Py_ssize_t at = take(&spec->nodes, 1, sizeof(Node));
    ((Node *)spec->nodes.items)[at] = (Node){kind, (uint32_t)count};
    stir(spec, (uint64_t)kind << 32 | (uint64_t)count);
}

static inline void keep(Spec *spec, Py_ssize_t at, PyObject *key, uint64_t hash)
{
    ((PyObject **)spec->keys.items)[at] = Py_NewRef(key);
    stir(spec, hash);
}

static inline void visit(PyObject *tree, Spec *spec, Array *leaves);

static inline void visit_items(PyObject **items, Py_ssize_t count, Spec *spec, Array *leaves)
{
    for (Py_ssize_t i = 0; i < count; i++)
        visit(items[i], spec, leaves);
}

static void visit_container(PyObject *tree, Spec *spec, Array *leaves)
{
    if (PyDict_CheckExact(tree)) {
        Py_ssize_t place = 0, count = PyDict_GET_SIZE(tree);
        note(spec, DICT, count);
        PyObject *key, *child;
        for (Py_ssize_t at = take(&spec->keys, count, sizeof key); PyDict_Next(tree, &place, &key, &child); at++) {
            keep(spec, at, key, (uint64_t)PyObject_Hash(key));
            visit(child, spec, leaves);
        }
    } else if (PyList_CheckExact(tree)) {
        note(spec, LIST, PyList_GET_SIZE(tree));
        visit_items(((PyListObject *)tree)->ob_item, PyList_GET_SIZE(tree), spec, leaves);
    } else {
        note(spec, PyTuple_CheckExact(tree) ? TUPLE : NAMED, PyTuple_GET_SIZE(tree));
        if (!PyTuple_CheckExact(tree)) {
            Py_ssize_t at = take(&spec->keys, 1, sizeof tree);
            keep(spec, at, (PyObject *)Py_TYPE(tree), (uintptr_t)Py_TYPE(tree) >> 4);
        }
        visit_items(((PyTupleObject *)tree)->ob_item, PyTuple_GET_SIZE(tree), spec, leaves);
    }
}

static inline int is_container(PyObject *tree)
{
    return PyDict_CheckExact(tree) || PyList_CheckExact(tree) || PyTuple_Check(tree);
}

static inline void visit(PyObject *tree, Spec *spec, Array *leaves)
{
    if (is_container(tree)) {
        visit_container(tree, spec, leaves);
        return;
    }
    Py_ssize_t at = take(leaves, 1, sizeof tree);
    ((PyObject **)leaves->items)[at] = Py_NewRef(tree);
    note(spec, LEAF, 0);
}

/* A list that takes over the references of `leaves`. */
static PyObject *as_list(Array *leaves)
{
    PyObject *list = PyList_New(leaves->used);
    if (list && leaves->used)
        memcpy(((PyListObject *)list)->ob_item, leaves->items, leaves->used * sizeof(PyObject *));
    free(leaves->items);
    return list;
}

static PyObject *flatten(PyObject *Py_UNUSED(module), PyObject *tree)
{
    Spec *spec = PyObject_New(Spec, &SpecType);
    if (!spec)
        return NULL;
    Array leaves = spec->nodes = spec->keys = (Array){NULL, 0, 0};
    spec->hash = 0;
    visit(tree, spec, &leaves);
    spec->leaves = leaves.used;
    PyObject *list = as_list(&leaves);
    return list ? Py_BuildValue("(NN)", list, spec) : NULL;
}

/* Where a walk along a structure stands. */
typedef struct {
    Node *node;
    PyObject **key, **leaf;
} Place;

static int follow(Place *at, PyObject *tree)
{
    Node node = *at->node++;
    if (node.kind == LEAF) {
        *at->leaf++ = Py_NewRef(tree);
        return 1;
    }
    if (node.kind == DICT) {
        if (!PyDict_CheckExact(tree) || PyDict_GET_SIZE(tree) != node.count)
            return 0;
        PyObject **expected = at->key, *key, *child;
        at->key += node.count;
        for (Py_ssize_t place = 0; PyDict_Next(tree, &place, &key, &child); expected++)
            if ((key != *expected && PyObject_RichCompareBool(key, *expected, Py_EQ) != 1) || !follow(at, child))
                return 0;
        return 1;
    }
    PyObject **items;
    if (node.kind == LIST) {
        if (!PyList_CheckExact(tree) || PyList_GET_SIZE(tree) != node.count)
            return 0;
        items = ((PyListObject *)tree)->ob_item;
    } else {
        PyObject *class = node.kind == NAMED ? *at->key++ : (PyObject *)&PyTuple_Type;
        if ((PyObject *)Py_TYPE(tree) != class || PyTuple_GET_SIZE(tree) != node.count)
            return 0;
        items = ((PyTupleObject *)tree)->ob_item;
    }
    for (uint32_t i = 0; i < node.count; i++)
        if (!follow(at, items[i]))
            return 0;
    return 1;
}

static PyObject *match(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t Py_UNUSED(count))
{
    Spec *spec = (Spec *)arguments[0];
    PyObject *list = PyList_New(spec->leaves);
    if (!list)
        return NULL;
    Place at = {spec->nodes.items, spec->keys.items, ((PyListObject *)list)->ob_item};
    if (follow(&at, arguments[1]))
        return list;
    Py_DECREF(list);
    Py_RETURN_NONE;
}

static PyObject *build(Place *at)
{
    Node node = *at->node++;
    if (node.kind == LEAF)
        return Py_NewRef(*at->leaf++);
    if (node.kind == DICT) {
        PyObject *dict = PyDict_New(), **key = at->key;
        at->key += node.count;
        for (uint32_t i = 0; i < node.count; i++, key++) {
            PyObject *child = build(at);
            PyDict_SetItem(dict, *key, child);
            Py_DECREF(child);
        }
        return dict;
    }
    if (node.kind == LIST) {
        PyObject *list = PyList_New(node.count);
        for (uint32_t i = 0; i < node.count; i++)
            PyList_SET_ITEM(list, i, build(at));
        return list;
    }
    PyTypeObject *class = node.kind == NAMED ? (PyTypeObject *)*at->key++ : &PyTuple_Type;
    PyObject *tuple = class == &PyTuple_Type ? PyTuple_New(node.count) : class->tp_alloc(class, node.count);
    for (uint32_t i = 0; i < node.count; i++)
        PyTuple_SET_ITEM(tuple, i, build(at));
    return tuple;
}

static PyObject *unflatten(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t Py_UNUSED(count))
{
    Spec *spec = (Spec *)arguments[0];
    Place at = {spec->nodes.items, spec->keys.items, ((PyListObject *)arguments[1])->ob_item};
    return build(&at);
}

static PyObject *mapped(PyObject *function, PyObject *tree)
{
    if (!is_container(tree))
        return PyObject_CallOneArg(function, tree);
    if (PyDict_CheckExact(tree)) {
        PyObject *dict = PyDict_New(), *key, *value;
        for (Py_ssize_t place = 0; PyDict_Next(tree, &place, &key, &value);) {
            PyObject *child = mapped(function, value);
            PyDict_SetItem(dict, key, child);
            Py_DECREF(child);
        }
        return dict;
    }
    if (PyList_CheckExact(tree)) {
        PyObject *list = PyList_New(PyList_GET_SIZE(tree));
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tree); i++)
            PyList_SET_ITEM(list, i, mapped(function, PyList_GET_ITEM(tree, i)));
        return list;
    }
    PyTypeObject *class = Py_TYPE(tree);
    Py_ssize_t count = PyTuple_GET_SIZE(tree);
    PyObject *tuple = class == &PyTuple_Type ? PyTuple_New(count) : class->tp_alloc(class, count);
    for (Py_ssize_t i = 0; i < count; i++)
        PyTuple_SET_ITEM(tuple, i, mapped(function, PyTuple_GET_ITEM(tree, i)));
    return tuple;
}

static PyObject *map(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t Py_UNUSED(count))
{
    return mapped(arguments[0], arguments[1]);
}

static void spec_dealloc(Spec *spec)
{
    for (Py_ssize_t i = 0; i < spec->keys.used; i++)
        Py_DECREF(((PyObject **)spec->keys.items)[i]);
    free(spec->nodes.items);
    free(spec->keys.items);
    PyObject_Free(spec);
}

static PyTypeObject SpecType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "floor.Spec",
    .tp_basicsize = sizeof(Spec),
    .tp_dealloc = (destructor)spec_dealloc,
};

static PyMethodDef functions[] = {
    {"flatten", flatten, METH_O, NULL},
    {"match", (PyCFunction)(void *)match, METH_FASTCALL, NULL},
    {"unflatten", (PyCFunction)(void *)unflatten, METH_FASTCALL, NULL},
    {"map", (PyCFunction)(void *)map, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "floor", .m_size = -1, .m_methods = functions};

PyMODINIT_FUNC PyInit_floor(void)
{
    return PyType_Ready(&SpecType) < 0 ? NULL : PyModule_Create(&module);
}
