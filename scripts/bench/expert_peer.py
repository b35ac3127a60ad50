# expert_peer.py: a layer of experts by PyTorch for expert_layer.lua, which starts it, sends it
# requests, a line each, and reads an answer, "ok ..." or "error ...":
#   data T D F E K ROUTED       random operands of bf16; ROUTED is 1 if the router is part of the layer, 2
#                               for the gradients of the operands and of the routing weights.
#                               Takes the faster of eager and compiled, and of two ways to add up
#   time IDLE WARM SYNC REPS    idles IDLE ms, launches WARM times, waits if SYNC, launches REPS times
#                               between two events; answers ms of a launch
import torch_peer
import torch
import torch._functorch.config

torch._functorch.config.donated_buffer = False  # gradients are taken more than once of one result


class Peer:
    def data(self, t, d, f, e, k, routed):
        t, d, f, e, self.k = int(t), int(d), int(f), int(e), int(k)
        self.routed = routed == "1"

        def random(*shape):
            return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)

        self.x, self.logits = random(t, d), torch.randn(t, e, device="cuda")
        self.up = random(e, 2 * f, d).transpose(1, 2)
        self.down = random(e, d, f).transpose(1, 2)
        self.routing = self.route()
        ways = {"eager": self.layer, "eager, index_add": self.layer_add}
        ways["compiled"] = torch.compile(self.layer, dynamic=True)
        if routed == "2":
            ways = self.gradients(ways)
        times, failed = {}, ""
        for name, way in ways.items():
            try:
                way()
                times[name] = float(torch_peer.timed(way, 0, 3, "1", 5))
            except Exception as wrong:
                failed = f"{name}: {str(wrong)[:200]}"
                print("expert_peer:", failed, file=torch_peer.sys.stderr)
        if not times:
            raise RuntimeError(f"no way works: {failed}")
        best = min(times, key=times.get)
        self.launch = ways[best]
        print("expert_peer:", best, times, file=torch_peer.sys.stderr)
        return best

    def gradients(self, ways):
        dy, made = torch.randn_like(self.x), {}
        with torch.enable_grad():
            leaves = [t.detach().requires_grad_() for t in (
                self.x, self.up.transpose(1, 2), self.down.transpose(1, 2), self.routing[3])]
            self.x, up, down, weights = leaves
            self.up, self.down = up.transpose(1, 2), down.transpose(1, 2)
            self.routing = (*self.routing[:3], weights)
            for name, way in ways.items():
                try:
                    y = way()
                    made[name] = lambda y=y: torch.autograd.grad(y, leaves, dy, retain_graph=True)
                except Exception as wrong:
                    print("expert_peer:", name, str(wrong)[:200], file=torch_peer.sys.stderr)
        return made

    # Rows of all experts, one after another: tokens, order, ends, weights.
    def route(self):
        weights, chosen = torch.topk(self.logits, self.k, dim=-1)
        weights = torch.softmax(weights, dim=-1)
        order = torch.argsort(chosen.flatten(), stable=True)
        counts = torch.bincount(chosen.flatten(), minlength=self.logits.shape[1])
        ends = torch.cumsum(counts, 0).to(torch.int32)
        return order // self.k, order, ends, weights.flatten()[order]

    def products(self):
        tokens, order, ends, weights = self.route() if self.routed else self.routing
        both = torch._grouped_mm(self.x[tokens], self.up, offs=ends)
        gate, up = both.chunk(2, dim=-1)
        hidden = torch.nn.functional.silu(gate) * up
        rows = torch._grouped_mm(hidden, self.down, offs=ends)
        return tokens, order, (rows * weights[:, None]).to(torch.bfloat16)

    def layer(self):
        _, order, rows = self.products()
        places = torch.empty_like(rows)
        places[order] = rows
        return places.view(-1, self.k, rows.shape[1]).sum(1)

    def layer_add(self):
        tokens, _, rows = self.products()
        return torch.zeros_like(self.x).index_add_(0, tokens, rows)

    def time(self, *numbers):
        return torch_peer.timed(self.launch, *numbers)


torch_peer.serve(Peer)
