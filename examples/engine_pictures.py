"""`x * y + 2` as a picture: the dependency graph as DOT (and SVG), the timeline for Perfetto.

    python examples/engine_pictures.py [FOLDER]

Open timeline.json at https://ui.perfetto.dev.
"""

import sys
from pathlib import Path

from asyncguard import engine
from asyncguard.engine import np
from asyncguard.engine.pictures import Recording, dot_graph, svg_graph, timeline

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
x, y = np.ones((1, 2)), np.ones((1, 2))
engine.waitall()

with Recording() as recording:
    z = x * y + 2
    print(z)

(folder / "graph.dot").write_text(dot_graph(recording))
(folder / "timeline.json").write_text(timeline(recording))
print(dot_graph(recording), end="")
try:
    (folder / "graph.svg").write_text(svg_graph(recording))
    print("graph.dot, graph.svg and timeline.json are written")
except RuntimeError as error:
    print(f"graph.dot and timeline.json are written; {error}")
