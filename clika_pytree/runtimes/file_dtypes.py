"""The dtypes of a safetensors file, and what libraries call them."""

from __future__ import annotations

__all__ = ["BITS", "FILE_DTYPES", "MASKED", "NAMES", "PACKED", "why_not"]

# By the name that numpy, ml_dtypes and JAX have for them; PyTorch's differs for one.
FILE_DTYPES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "float16": "F16",
    "bfloat16": "BF16",
    "uint32": "U32",
    "int32": "I32",
    "float32": "F32",
    "uint64": "U64",
    "int64": "I64",
    "float64": "F64",
    "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e8m0fnu": "F8_E8M0",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float4_e2m1fn": "F4",
    "float6_e2m3fn": "F6_E2M3",
    "float6_e3m2fn": "F6_E3M2",
}
NAMES = {code: name for name, code in FILE_DTYPES.items()}
_ODD_BITS = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "BF16": 16}
BITS = {code: _ODD_BITS.get(code) or int(code[1:].partition("_")[0]) for code in NAMES}
# Elements of these are put together in a file, and no library has them so in memory.
PACKED = ("F4", "F6_E2M3", "F6_E3M2")
# What follows the name of a dtype of arrays some of whose elements count as missing.
MASKED = " with a mask"
WAYS_OUT = {
    "complex128": "save w.view('float64'), or cast it to complex64",
    "longdouble": "cast it to float64",
    "float128": "cast it to float64",
    "object": "make it an array of numbers",
    "U": "keep the texts as str, which may be leaves",
    "S": "keep them as bytes, which may be leaves",
    "StringDType": "keep the texts as str, which may be leaves",
    "datetime": "save w.view('int64')",
    "timedelta": "save w.view('int64')",
    "V": "save each of its fields, or w.view('uint8')",
}


def why_not(dtype: str) -> str | None:
    """What is said of a dtype that a file can't hold; None of one that it can."""
    if dtype in NAMES and dtype not in PACKED:
        return None
    name = NAMES.get(dtype, dtype)
    family = "V" if name[:1] in ("[", "(", "{") else name.partition("[")[0].strip("<>|()0123456789")
    way_out = WAYS_OUT.get(name) or WAYS_OUT.get(family) or "cast it to one that the format has"
    if name.endswith(MASKED):
        way_out = "save numpy.ma.getmaskarray(w) and w.filled(...)"
    return f"its dtype is {name}, which a safetensors file can't hold; {way_out}"
