"""torch's distributions in a policy gradient, and a spawned DataLoader that collates by torch."""

import torch
from digest import digest

if __name__ == "__main__":
    torch.manual_seed(0)
    policy = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-2)
    for _ in range(5):
        choice = torch.distributions.Categorical(logits=policy(torch.randn(8, 4)))
        action = choice.sample()
        reward = torch.where(action == 1, 1.0, -1.0)
        loss = -(choice.log_prob(action) * reward).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item(), action.tolist())
    loader = torch.utils.data.DataLoader(
        [1.0, 2.0, 3.0, 4.0], batch_size=2, num_workers=1, collate_fn=torch.tensor,
        multiprocessing_context="spawn",
    )  # fmt: skip
    print(
        [batch.tolist() for batch in loader],
        digest(p.detach().numpy() for p in policy.parameters()),
    )
    raise ValueError("the program's own end")
