# einsum_peer.py: torch.einsum for einsum.lua, which starts it, sends it requests, a line each, and
# reads an answer, "ok ..." or "error ...":
#   data TEXT AxBxC DxE         random operands of bf16 with these extents; contracts them once
#   time IDLE WARM SYNC REPS    idles IDLE ms, launches WARM times, waits if SYNC, launches REPS times
#                               between two events; answers ms of a launch
import torch_peer
import torch


def random(extents):
    shape = [int(n) for n in extents.split("x")]
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


class Peer:
    def data(self, text, a, b):
        self.text, self.operands = text, (random(a), random(b))
        self.contract()
        torch.cuda.synchronize()
        return ""

    def contract(self):
        return torch.einsum(self.text, *self.operands)

    def time(self, *numbers):
        return torch_peer.timed(self.contract, *numbers)


torch_peer.serve(Peer)
