# rows_helion.py: Helion's own example kernels of rows, for rows_torch.py. Nothing is tuned: of a few configurations, the
# fastest one whose result is right is taken.
import torch
import torch._inductor.runtime.triton_compat as compat

if not hasattr(compat, "IntelGPUError"):  # Helion 1.5 wants a name that PyTorch 2.11 does not have
    compat.IntelGPUError = type("IntelGPUError", (Exception,), {})
import helion
import helion.language as hl

OPTIONS = {"static_shapes": True, "autotune_effort": "none"}


@helion.kernel(**OPTIONS)
def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    m, n = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(m):
        row = x[tile, :].to(torch.float32)
        scale = torch.rsqrt(torch.mean(row * row, dim=-1) + 1e-6)
        out[tile, :] = (row * scale[:, None] * weight[:].to(torch.float32)).to(out.dtype)
    return out


@helion.kernel(**OPTIONS)
def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    m, n = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(m):
        row = x[tile, :].to(torch.float32)
        variance, mean = torch.var_mean(row, dim=-1, keepdim=True, correction=0)
        normal = (row - mean) * torch.rsqrt(variance + 1e-5)
        out[tile, :] = (normal * weight[:].to(torch.float32) + bias[:].to(torch.float32)).to(out.dtype)
    return out


@helion.kernel(**OPTIONS)
def softmax(x: torch.Tensor) -> torch.Tensor:
    m, n = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(m):
        out[tile, :] = torch.nn.functional.softmax(x[tile, :], dim=1)
    return out


@helion.kernel(**OPTIONS)
def softmax_two_pass(x: torch.Tensor) -> torch.Tensor:
    m, n = x.size()
    out = torch.empty_like(x)
    rows = hl.register_block_size(m)
    columns = hl.register_block_size(n)
    for tile in hl.tile(m, block_size=rows):
        top = hl.full([tile], float("-inf"), dtype=torch.float32)
        total = hl.zeros([tile], dtype=torch.float32)
        for part in hl.tile(n, block_size=columns):
            values = x[tile, part]
            now = torch.maximum(top, torch.amax(values, dim=1))
            total = total * torch.exp(top - now) + torch.exp(values - now[:, None]).sum(dim=1)
            top = now
        for part in hl.tile(n, block_size=columns):
            out[tile, part] = torch.exp(x[tile, part] - top[:, None]) / total[:, None]
    return out


@helion.kernel(ignore_warnings=[helion.exc.TensorOperationInWrapper], index_dtype=torch.int64, **OPTIONS)
def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    n, v = logits.shape
    losses = torch.empty([n], dtype=torch.float32, device=logits.device)
    flat = logits.view(-1)
    for tile in hl.tile(n):
        picked = hl.load(flat, [tile.index * v + labels[tile]])
        row = logits[tile, :].to(torch.float32)
        top = torch.amax(row, dim=-1, keepdim=True)
        total = torch.sum(torch.exp(row - top), dim=-1, keepdim=True)
        losses[tile] = top.squeeze(-1) + torch.log(total.squeeze(-1)) - picked.to(torch.float32)
    return losses


KERNELS = {"rms_norm": (rms_norm,), "layer_norm": (layer_norm,), "softmax": (softmax, softmax_two_pass),
           "cross_entropy": (cross_entropy,)}


def configurations(kernel, columns):
    """Configurations worth a try for rows of so many columns."""
    if kernel is softmax_two_pass:
        return [helion.Config(block_sizes=[1, min(columns, 8192)], num_warps=w, num_stages=2) for w in (16,)]
    warps = (2, 4) if columns <= 1024 else (4, 8) if columns <= 4096 else (32,)
    made = [helion.Config(block_sizes=[1], reduction_loops=[None], num_warps=w, num_stages=1) for w in warps]
    if columns > 4096:
        made.append(helion.Config(block_sizes=[1], reduction_loops=[8192], num_warps=16, num_stages=2))
    return made


def ways(name, args):
    """Functions of `args`, one for each kernel and configuration that compiles."""
    found = []
    for kernel in KERNELS.get(name, ()):
        if kernel is softmax_two_pass and args[0].shape[1] <= 4096:
            continue
        bound = kernel.bind(args)
        for config in configurations(kernel, args[0].shape[1]):
            try:
                f = bound.compile_config(config, allow_print=False)
                f(*args)
                found.append(f)
            except Exception as e:  # a configuration that does not fit
                print(f"# helion {name} {dict(config)}: {type(e).__name__}", flush=True)
    return found
