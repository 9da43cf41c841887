/*
 * Names of the members of a graph's JSON, shared by writer and reader.
 *
 *     {"nodes": [
 *        {"name": "x", "op": "input", "dtype": "f32", "shape": ["N", 3]},
 *        {"name": "c", "op": "constant", "dtype": "i64", "shape": [1],
 *         "data": "0500000000000000"},
 *        {"name": "y", "op": "clip", "inputs": ["x"],
 *         "attrs": {"max": {"floats": ["inf"]}},
 *         "dtype": "f32", "shape": ["N", 3], "layer": 0}],
 *      "outputs": [{"name": "y", "node": "y"}]}
 *
 * An input that is not given is null. Elements of constants are their bytes,
 * little-endian, in hexadecimal.
 */
#ifndef ISO_GRAPH_JSON_IMPL_H
#define ISO_GRAPH_JSON_IMPL_H

/* By iso_attr_kind_t. */
#define ISO__ATTR_KIND_TEXTS                   \
    {                                          \
        "ints", "floats", "dims", "text", NULL \
    }

#endif
