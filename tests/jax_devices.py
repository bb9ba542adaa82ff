"""Arrays of JAX on several devices, for a process of its own: the number of devices is fixed when JAX starts."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

import clika_pytree as crt
from clika_pytree.runtimes import runtime_named

runtime = runtime_named("test", "jax")
devices = jax.devices()
assert len(devices) == 4
rows = NamedSharding(jax.sharding.Mesh(devices, ("rows",)), PartitionSpec("rows"))
columns = NamedSharding(jax.sharding.Mesh(devices, ("columns",)), PartitionSpec(None))
on_a_column = jax.device_put(jnp.ones((4, 2)), columns)
spread = jax.device_put(jnp.arange(8.0).reshape(4, 2), rows)


def function(x):
    return {"twice": x * 2, "sum": x.sum(0), "same": x}


for dynamic in (False, True):
    compiled = crt.compile(function, dynamic=dynamic)
    for x in (jax.device_put(jnp.ones((4, 2)), devices[1]), spread, jax.device_put(jnp.ones((4, 2)), devices[2])):
        wanted, found = jax.jit(function)(x), compiled(x)
        assert found["same"] is x
        for name in ("twice", "sum"):
            np.testing.assert_array_equal(found[name], wanted[name])
            assert found[name].devices() == wanted[name].devices(), (dynamic, name)
            assert found[name].sharding.is_equivalent_to(wanted[name].sharding, wanted[name].ndim)
    # A mesh is part of what JAX knows of an array while it traces; on which device an array is, is not.
    assert compiled.cache_info().currsize == (1 if dynamic else 2)
    if not dynamic:
        assert "x: was float32[4, 2], now float32[4, 2] with another aval" in str(compiled.explain(on_a_column))

crt.eval(spread, jax.device_put(1.0, devices[3]))
assert runtime.describe(spread).device == "4 devices"
assert runtime.describe(jax.device_put(1.0, devices[3])).device == "cpu:3"
assert bytes(runtime.to_host(spread).buffer) == np.asarray(spread).tobytes()
assert len(runtime.same_memory(spread)[0]) == 4
host = runtime.to_host(spread)
assert runtime.from_host(host, "cpu:2").devices() == {devices[2]}
print("right")
