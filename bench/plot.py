"""The plot: time against the number of leaves, for each engine."""

from pathlib import Path

from figures import FLOOR, OURS, Curves

TITLES = {"map": "map (a Python function)"}
COLORS = {
    OURS: "#c2410c",
    FLOOR: "#6b7280",
    "jaxlib": "#1d4ed8",
    "optree": "#0f766e",
    "dm-tree": "#7c3aed",
    "torch": "#b45309",
}
LABELS = {FLOOR: "floor (bare walk in C)"}


def plot(curves: dict[str, Curves], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(curves), figsize=(5 * len(curves), 4.6), sharey=True, layout="constrained")
    for axis, (operation, engines) in zip(axes.flat if len(curves) > 1 else [axes], curves.items(), strict=True):
        for engine, points in engines.items():
            leaves, seconds = zip(*points, strict=True)
            axis.loglog(
                leaves,
                seconds,
                label=LABELS.get(engine, engine),
                color=COLORS[engine],
                linestyle="--" if engine == FLOOR else "-",
                linewidth=2.6 if engine == OURS else 1.5,
                marker="o",
                markersize=5 if engine == OURS else 3.5,
                zorder=3 if engine == OURS else 2,
            )
        axis.set_title(TITLES.get(operation, operation))
        axis.set_xlabel("leaves")
        axis.grid(which="major", color="#e5e7eb")
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelleft=True)
        axis.yaxis.set_major_formatter(lambda value, _: seconds_in_words(value))
    first = axes.flat[0] if len(curves) > 1 else axes
    first.set_ylabel("time of one call, lower is better")
    # In the order in which the lines stand at their common end.
    handles, labels = first.get_legend_handles_labels()
    common = min(points[-1][0] for points in next(iter(curves.values())).values())
    order = sorted(range(len(handles)), key=lambda i: -dict(zip(*handles[i].get_data(), strict=True))[common])
    first.legend([handles[i] for i in order], [labels[i] for i in order], frameon=False)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def seconds_in_words(value: float) -> str:
    for size, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= size * 0.999:
            return f"{value / size:.0f} {unit}"
    return f"{value * 1e9:.0f} ns"
