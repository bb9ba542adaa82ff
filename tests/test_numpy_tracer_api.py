"""Every function of numpy that hands arrays over, and every method: recorded, it computes what numpy computes."""

from __future__ import annotations

import numpy_functions


def test_every_function_is_recorded_or_refused():
    equal, refused, differ, untried = numpy_functions.table()
    assert differ == []
    assert untried == []
    assert refused.keys() - numpy_functions.GONE == numpy_functions.REFUSED
    assert len(equal) > 400
