# grouped_peer.py: torch._grouped_mm for grouped.lua, which starts it, sends it requests, a line
# each, and reads an answer, "ok ..." or "error ...":
#   data M N K END,END,...      random operands of bf16, and where groups end; multiplies them once
#   time IDLE WARM SYNC REPS    idles IDLE ms, launches WARM times, waits if SYNC, launches REPS times
#                               between two events; answers ms of a launch
import torch_peer
import torch


class Peer:
    def data(self, m, n, k, ends):
        m, n, k, ends = int(m), int(n), int(k), [int(end) for end in ends.split(",")]
        self.a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
        b = torch.randn(len(ends), n, k, device="cuda", dtype=torch.bfloat16)
        self.b, self.ends = b.transpose(1, 2), torch.tensor(ends, device="cuda", dtype=torch.int32)
        self.multiply()
        torch.cuda.synchronize()
        return ""

    def multiply(self):
        return torch._grouped_mm(self.a, self.b, offs=self.ends)

    def time(self, *numbers):
        return torch_peer.timed(self.multiply, *numbers)


torch_peer.serve(Peer)
