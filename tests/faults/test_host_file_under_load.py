"""500 random scales while another process reads the real file 100,000 times with the grammar of Horovod."""

from __future__ import annotations

import random
import time
from pathlib import Path

from .conftest import KillableServer, Reader, leaver_listed

SCALES, READS, SIZES = 500, 100_000, 8


def test_never_wrong(tmp_path: Path) -> None:
    server = KillableServer(local_places=SIZES, drain_grace=0.2)
    try:
        server.start()
        cluster = server.create(size=2, max_size=SIZES)
        path = Path(cluster["hostfile"]["hostfile"])
        reader = Reader(path, server.folder)
        draw = random.Random(20)
        size = 2
        for number in range(SCALES):
            size = draw.randint(1, SIZES)
            server.put(f"clusters/{cluster['id']}/target", {"size": size})
            time.sleep(draw.choice((0.0, 0.02, 0.1)))
            if number % 5 == 0:
                assert leaver_listed(server, cluster["id"], path) is None
        server.wait_ready(cluster["id"], size, seconds=60)
        time.sleep(3)  # the last list is read too, and a slow machine gets its reads
        seen = reader.finish()
        assert seen["errors"] == []
        assert seen["reads"] >= READS
        assert seen["contents"] >= 50, "the file hardly changed: the test saw nothing"
    finally:
        server.close()
