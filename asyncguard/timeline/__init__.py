"""Host segments, enqueues, device intervals and waits: what the rest reasons about in time."""
