"""torch's Transformer layers, compiled, trained from a DataLoader with workers."""

import torch
from digest import digest

if __name__ == "__main__":
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    model = torch.nn.Sequential(torch.nn.TransformerEncoder(layer, 2), torch.nn.Linear(16, 4))
    step = torch.compile(model, backend="aot_eager", fullgraph=True)
    data = torch.utils.data.TensorDataset(torch.randn(32, 5, 16), torch.randint(0, 4, (32, 5)))
    loader = torch.utils.data.DataLoader(data, batch_size=8, num_workers=2, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(step(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
    print(digest(p.detach().numpy() for p in model.parameters()))
    raise SystemExit(3)
