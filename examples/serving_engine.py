"""A small engine with continuous batching, and what its decode loop may wait.

    python examples/serving_engine.py [--naive]

Requests are asyncio tasks that join and leave a batch of slots while it runs. In each turn the
model makes a token for every slot, and one read brings all of them to the host; with `--naive` each
request reads its own. A limit holds each turn to one wait, and each request's own task to none.
Needs torch; the CUDA device is simulated.
"""

from __future__ import annotations

import asyncio
import sys

import torch

import asyncguard

VOCABULARY, WIDTH, END = 64, 32, 0


class Model(torch.nn.Module):
    """A recurrent language model with random weights."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.cell = torch.nn.GRUCell(WIDTH, WIDTH)
        self.head = torch.nn.Linear(WIDTH, VOCABULARY)

    def forward(
        self, tokens: torch.Tensor, state: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the next token and state of each slot; tokens: (slots,), state: (slots, WIDTH)."""
        state = self.cell(self.embed(tokens), state)
        return self.head(state).argmax(dim=1), state


class Engine:
    """Decodes the requests in its slots together, a token for each of them in a turn."""

    def __init__(self, model: Model, slots: int, device: str, *, naive: bool = False) -> None:
        self.model, self.naive = model, naive
        self.tokens = torch.zeros(slots, dtype=torch.long, device=device)
        self.state = torch.zeros(slots, WIDTH, device=device)
        self.free = list(range(slots))
        self.active: dict[int, asyncio.Queue[int]] = {}  # by slot: where its tokens go
        self.changed = asyncio.Condition()

    async def run(self) -> None:
        """Take turns until cancelled; sleep while there are no requests."""
        while True:
            async with self.changed:
                await self.changed.wait_for(lambda: self.active)
            with asyncguard.step("token"), torch.inference_mode():
                self.turn()
            await asyncio.sleep(0)  # requests take their tokens, join and leave

    def turn(self) -> None:
        """Make a token for each slot, and hand those of the requests on."""
        self.tokens, self.state = self.model(self.tokens, self.state)
        made = None if self.naive else self.tokens.tolist()
        for slot, queue in self.active.items():
            queue.put_nowait(self.tokens[slot].item() if made is None else made[slot])

    async def generate(self, prompt: int, length: int) -> list[int]:
        """Return at most `length` tokens that follow `prompt`."""
        async with self.changed:
            await self.changed.wait_for(lambda: self.free)
            slot, queue = self.free.pop(), asyncio.Queue[int]()
            with torch.inference_mode():
                self.tokens[slot].fill_(prompt)  # `= prompt` would upload the number, and wait
                self.state[slot].zero_()
            self.active[slot] = queue
            self.changed.notify_all()
        answer: list[int] = []
        while len(answer) < length and (not answer or answer[-1] != END):
            answer.append(await queue.get())
        async with self.changed:
            del self.active[slot]
            self.free.append(slot)
            self.changed.notify_all()
        return answer


async def serve(requests: int, slots: int, *, naive: bool = False) -> list[list[int]]:
    """Return the answers to so many requests, of different lengths, within the budgets."""
    torch.manual_seed(0)
    model = Model().to("cuda").eval()

    @asyncguard.step("request")
    async def handle(number: int) -> list[int]:
        return await engine.generate(prompt=number % VOCABULARY, length=4 + number % 5)

    with (
        asyncguard.limit_syncs(1, per="token", after=1),
        asyncguard.limit_syncs(0, per="request"),
    ):
        engine = Engine(model, slots, "cuda", naive=naive)
        loop = asyncio.create_task(engine.run())
        handlers = asyncio.gather(*(handle(number) for number in range(requests)))
        try:
            done, _ = await asyncio.wait({loop, handlers}, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()  # raises what ended the engine, or a request
        finally:
            loop.cancel()
            handlers.cancel()
            await asyncio.gather(loop, handlers, return_exceptions=True)
    return list(handlers.result())


def main() -> None:
    """Serve a dozen requests in four slots."""
    with asyncguard.simulate_cuda(), asyncguard.trace() as trace:
        try:
            answers = asyncio.run(serve(12, 4, naive="--naive" in sys.argv))
        except asyncguard.SyncLimitExceeded as error:
            sys.exit(f"over the budget: {error}")
    turns = trace.units["token"]
    print(f"{len(answers)} requests, {sum(map(len, answers))} tokens in {turns['count']} turns")
    print(f"{turns['steady_waits'] / turns['steady_count']:.2f} waits a turn")
    print(f"{trace.units['request']['waits']} waits in the requests' own tasks")


if __name__ == "__main__":
    main()
