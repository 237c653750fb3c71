import torch


class Server:
    def __init__(self, model):
        self.model = model.cuda()

    def serve(self, inbox):
        while True:
            message = inbox.get()
            getattr(self, f"on_{message.kind}")(message.payload)

    def on_decode(self, ids):
        return self.model(ids.cuda(non_blocking=True)).argmax(-1).item()  # ASG102

    def reset(self, ids):
        return self.model(ids.cuda(non_blocking=True)).argmax(-1).item()  # clean
