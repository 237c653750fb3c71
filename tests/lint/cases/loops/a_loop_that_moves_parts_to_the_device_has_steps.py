import torch  # noqa: F401


class Codec:
    def compress(self, signal, count, hop, device):
        codes = []
        for start in range(0, count, hop):
            part = signal.window(start, start + hop).audio.to(self.device)  # ASG106
            codes.append(self.encode(part))
        return codes

    def collect(self, signal, count, hop):
        parts = []
        for start in range(0, count, hop):
            parts.append(signal.window(start, start + hop).audio)
        return parts[0].audio.to(self.device)  # clean
