"""Programs as people write them for CUDA: each trains or infers on `device` and returns its losses.

Those that end in a library's name leave the loop, the model or both to that library.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from tests.frameworks import require

torch = require("torch")
nn, F = torch.nn, torch.nn.functional
Program = Callable[[str], list[float]]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Enter a program into the list."""
    PROGRAMS[function.__name__] = function
    return function


class Block(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        parts = self.qkv(self.before(x)).split(width, -1)
        q, k, v = (p.view(batch, length, self.heads, -1).transpose(1, 2) for p in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.between(x))


class GPT(nn.Module):  # type: ignore[misc]
    def __init__(self, words: int = 64, width: int = 32, layers: int = 2, length: int = 64) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, 4) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids: Any) -> Any:
        places = torch.arange(ids.shape[1], device=ids.device)
        return self.head(self.norm(self.blocks(self.words(ids) + self.places(places))))


@program
def gpt_accumulation_amp(device: str) -> list[float]:
    torch.manual_seed(0)
    model = GPT().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
    scaler = torch.amp.GradScaler(device)
    losses = []
    for _ in range(3):
        total = 0.0
        for _ in range(2):
            ids = torch.randint(0, 64, (4, 17))
            if device == "cuda":
                ids = ids.pin_memory()
            ids = ids.to(device, non_blocking=True)
            with torch.autocast(device, dtype=torch.bfloat16):
                logits = model(ids[:, :-1])
                loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()) / 2
            scaler.scale(loss).backward()
            total += loss.item()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        schedule.step()
        losses.append(total)
    return losses


@program
def gpt_sampling(device: str) -> list[float]:
    torch.manual_seed(0)
    model = GPT().to(device).eval()
    ids = torch.zeros(2, 1, dtype=torch.long, device=device)
    with torch.inference_mode():
        for _ in range(8):
            logits = model(ids)[:, -1] / 0.8
            floor = torch.topk(logits, 8)[0][:, [-1]]
            logits[logits < floor] = -float("inf")
            chosen = torch.multinomial(F.softmax(logits, -1), 1)
            ids = torch.cat((ids, chosen), 1)
            if (chosen == 0).all():
                break
    return [float(n) for n in ids.flatten().tolist()]


@program
def image_classifier(device: str) -> list[float]:
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(32, 3, 16, 16), torch.randint(0, 5, (32,)))
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True, pin_memory=True)
    layers = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(2)
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(32, 5)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    losses = []
    for _ in range(2):
        model.train()
        correct = seen = 0
        for images, labels in loader:
            images = images.to(device, non_blocking=True)
            labels = labels.to(device, non_blocking=True)
            optimizer.zero_grad()
            outputs = model(images)
            loss = F.cross_entropy(outputs, labels, label_smoothing=0.1)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            correct += (outputs.argmax(1) == labels).sum().item()
            seen += labels.size(0)
        losses.append(correct / seen)
    return losses


@program
def variational_autoencoder(device: str) -> list[float]:
    torch.manual_seed(0)
    encoder, decoder = nn.Linear(20, 8).to(device), nn.Linear(4, 20).to(device)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
    total = 0.0
    for _ in range(5):
        x = torch.rand(16, 20).to(device)
        mean, log_variance = encoder(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        rebuilt = torch.sigmoid(decoder(z))
        entropy = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
        loss = F.binary_cross_entropy(rebuilt, x, reduction="sum") + entropy
        optimizer.zero_grad()
        loss.backward()
        total += loss.item()
        optimizer.step()
    return [total]


@program
def adversarial_network(device: str) -> list[float]:
    torch.manual_seed(0)
    make = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 8)).to(device)
    judge = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1)).to(device)
    of_make = torch.optim.Adam(make.parameters(), lr=2e-3, betas=(0.5, 0.999))
    of_judge = torch.optim.Adam(judge.parameters(), lr=2e-3, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    losses = []
    for _ in range(4):
        truth = torch.full((16, 1), 1.0, device=device)
        lies = torch.zeros(16, 1, device=device)
        made = make(torch.randn(16, 4, device=device))
        judge.zero_grad()
        on_judge = criterion(judge(torch.randn(16, 8).to(device)), truth)
        on_judge = on_judge + criterion(judge(made.detach()), lies)
        on_judge.backward()
        of_judge.step()
        make.zero_grad()
        on_make = criterion(judge(made), truth)
        on_make.backward()
        of_make.step()
        losses += [on_judge.item(), on_make.item()]
    return losses


@program
def policy_gradient(device: str) -> list[float]:
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2)).to(device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        state, kept, rewards = torch.zeros(4), [], []
        for _ in range(10):
            chances = torch.distributions.Categorical(logits=policy(state.to(device)))
            action = chances.sample()
            kept.append(chances.log_prob(action))
            state = state + (0.1 if action.item() else -0.1) + 0.05 * torch.randn(4)
            rewards.append(-float(state.abs().sum()))
        returns = torch.tensor(rewards, device=device).flip(0).cumsum(0).flip(0)
        returns = (returns - returns.mean()) / (returns.std() + 1e-8)
        loss = -(torch.stack(kept) * returns).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@program
def q_learning(device: str) -> list[float]:
    torch.manual_seed(0)
    online = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3)).to(device)
    target = copy.deepcopy(online)
    optimizer = torch.optim.RMSprop(online.parameters())
    losses = []
    for step in range(6):
        states, after = torch.randn(16, 4).to(device), torch.randn(16, 4).to(device)
        actions = torch.randint(0, 3, (16, 1), device=device)
        alive = torch.rand(16, device=device) > 0.2
        values = torch.zeros(16, device=device)
        with torch.no_grad():
            values[alive] = target(after[alive]).max(1).values
        loss = F.smooth_l1_loss(online(states).gather(1, actions)[:, 0], values * 0.99 + 1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(online.parameters(), 1.0)
        optimizer.step()
        if step % 2:
            target.load_state_dict(online.state_dict())
        losses.append(float(loss))
    return losses


@program
def recurrent_language_model(device: str) -> list[float]:
    torch.manual_seed(0)
    words = nn.Embedding(30, 16).to(device)
    lstm = nn.LSTM(16, 24, 2, dropout=0.1, batch_first=True).to(device)
    head = nn.Linear(24, 30).to(device)
    parameters = [*words.parameters(), *lstm.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=1.0)
    hidden, losses = None, []
    for _ in range(4):
        ids = torch.randint(0, 30, (4, 11), device=device)
        outputs, hidden = lstm(words(ids[:, :-1]), hidden)
        hidden = tuple(part.detach() for part in hidden)
        loss = F.cross_entropy(head(outputs).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.25)
        optimizer.step()
        losses.append(loss.item())
    return losses


@program
def diffusion_model(device: str) -> list[float]:
    torch.manual_seed(0)
    betas = torch.linspace(1e-4, 0.02, 20, device=device)
    kept = torch.cumprod(1 - betas, 0)
    model = nn.Sequential(nn.Linear(9, 32), nn.SiLU(), nn.Linear(32, 8)).to(device)
    average = torch.optim.swa_utils.AveragedModel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(4):
        x, noise = torch.randn(16, 8).to(device), torch.randn(16, 8, device=device)
        times = torch.randint(0, 20, (16,), device=device)
        level = kept[times, None]
        noisy = level.sqrt() * x + (1 - level).sqrt() * noise
        loss = F.mse_loss(model(torch.cat([noisy, times[:, None] / 20], 1)), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update_parameters(model)
        losses.append(loss.item())
    with torch.no_grad():
        x = torch.randn(2, 8, device=device)
        for time in reversed(range(20)):
            when = torch.full((2, 1), time / 20, device=device)
            guess = average(torch.cat([x, when], 1))
            x = (x - betas[time] / (1 - kept[time]).sqrt() * guess) / (1 - betas[time]).sqrt()
    return [*losses, *x.flatten().cpu().tolist()]


@program
def detector(device: str) -> list[float]:
    torch.manual_seed(0)
    body = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 5, 1)).to(device)
    optimizer = torch.optim.SGD(body.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        images, boxes = torch.randn(2, 3, 16, 16).to(device), torch.rand(2, 4).to(device)
        outputs = body(images).flatten(2).transpose(1, 2)
        scores, guesses = outputs[..., 0], outputs[..., 1:].sigmoid()
        distance = (guesses - boxes[:, None]).abs().sum(-1)
        best = distance < distance.quantile(0.1, dim=1, keepdim=True)
        chosen = guesses[best]
        where = best.nonzero(as_tuple=True)[0]
        loss = F.binary_cross_entropy_with_logits(scores, best.float())
        loss = loss + F.l1_loss(chosen, boxes[where]) + 0.1 * chosen.shape[0]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@program
def checkpoint_and_resume(device: str) -> list[float]:
    import io

    torch.manual_seed(0)
    losses: list[float] = []
    saved: io.BytesIO | None = None
    for _ in range(2):
        model = nn.Linear(6, 3).to(device)
        optimizer = torch.optim.Adam(model.parameters())
        if saved is not None:
            saved.seek(0)
            state = torch.load(saved, map_location=device)
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
        for _ in range(2):
            loss = model(torch.randn(4, 6, device=device)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        saved = io.BytesIO()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, saved)
    return losses


def causal_model(device: str) -> Any:
    transformers = require("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2,
        bos_token_id=0, eos_token_id=1, pad_token_id=1,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config).to(device)


@program
def gpt2_of_transformers(device: str) -> list[float]:
    model = causal_model(device)
    optimizer = torch.optim.AdamW(model.parameters())
    losses = []
    for _ in range(3):
        ids = torch.randint(2, 64, (2, 12), device=device)
        loss = model(input_ids=ids, labels=ids, attention_mask=torch.ones_like(ids)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


@program
def generation_of_transformers(device: str) -> list[float]:
    model = causal_model(device).eval()
    ids = torch.randint(2, 64, (2, 4), device=device)
    greedy = model.generate(ids, max_new_tokens=6, do_sample=False)
    torch.manual_seed(1)
    sampled = model.generate(ids, max_new_tokens=6, do_sample=True, top_k=10, top_p=0.9)
    return [float(n) for n in [*greedy.flatten().tolist(), *sampled.flatten().tolist()]]


@program
def bert_of_transformers(device: str) -> list[float]:
    transformers = require("transformers")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64,
    )  # fmt: skip
    model = transformers.BertForSequenceClassification(config).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, 1, 4)
    losses = []
    for _ in range(3):
        ids = torch.randint(2, 64, (4, 10)).to(device)
        mask = (torch.arange(10) < torch.tensor([[10], [7], [4], [9]])).long().to(device)
        labels = torch.randint(0, 2, (4,)).to(device)
        loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


@program
def vision_transformer_of_transformers(device: str) -> list[float]:
    transformers = require("transformers")
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        image_size=16, patch_size=4, num_labels=3,
    )  # fmt: skip
    model = transformers.ViTForImageClassification(config).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    losses = []
    for _ in range(3):
        labels = torch.randint(0, 3, (4,)).to(device)
        loss = model(pixel_values=torch.randn(4, 3, 16, 16).to(device), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class Pairs(torch.utils.data.Dataset):  # type: ignore[misc]
    """Sequences to continue."""

    def __init__(self) -> None:
        self.ids = torch.randint(2, 64, (8, 10), generator=torch.Generator().manual_seed(0))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, at: int) -> dict[str, Any]:
        return {"input_ids": self.ids[at], "labels": self.ids[at]}


@program
def trainer_of_transformers(device: str) -> list[float]:
    import tempfile

    transformers = require("transformers")
    model = causal_model("cpu")
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            output_dir=folder, max_steps=3, per_device_train_batch_size=4, logging_steps=1,
            save_strategy="no", report_to=[], use_cpu=device == "cpu", disable_tqdm=True, seed=0,
        )  # fmt: skip
        trainer = transformers.Trainer(model, arguments, train_dataset=Pairs())
        trainer.train()
        if device != "cpu":
            assert next(model.parameters()).is_cuda
        return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


@program
def loop_of_accelerate(device: str) -> list[float]:
    accelerate = require("accelerate")
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerator = accelerate.Accelerator(cpu=device == "cpu", gradient_accumulation_steps=2)
    model = causal_model("cpu")
    optimizer = torch.optim.AdamW(model.parameters())
    loader = torch.utils.data.DataLoader(Pairs(), batch_size=2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    losses = []
    for batch in loader:
        assert batch["input_ids"].device.type == device
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather(loss.detach()).mean().item())
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    return losses


@program
def trainer_of_lightning(device: str) -> list[float]:
    lightning = require("lightning")
    losses: list[float] = []

    class Module(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 2)

        def training_step(self, batch: Any, index: int) -> Any:
            loss = self.layer(batch[0]).square().mean()
            assert loss.device.type == device
            self.log("loss", loss)
            losses.append(loss.detach())
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=1e-2)

    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(16, 6))
    trainer = lightning.Trainer(
        accelerator="gpu" if device == "cuda" else "cpu", devices=1, max_epochs=1, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(Module(), torch.utils.data.DataLoader(data, batch_size=4))
    return [loss.item() for loss in losses]


@program
def loop_of_fabric(device: str) -> list[float]:
    fabric = require("lightning").Fabric(
        accelerator="cuda" if device == "cuda" else "cpu", devices=1
    )
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
    data = torch.utils.data.TensorDataset(torch.randn(16, 6))
    losses = []
    for (inputs,) in fabric.setup_dataloaders(torch.utils.data.DataLoader(data, batch_size=4)):
        loss = model(inputs).square().mean()
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    return losses
