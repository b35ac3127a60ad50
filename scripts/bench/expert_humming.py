# expert_humming.py: both products of a layer of packed experts by humming (tokenspeed-humming), to read beside those
# that expert_layer.lua --packed=u4:128 --parts prints: microseconds of each alone, in graphs of ten launches.
#   python3 scripts/bench/expert_humming.py [TxDxFxExK ...]
# The activation between them is not part of it. Weights are signed int4 in groups of 128 with scales of bf16.
import sys

import torch
from humming import ops
from humming.kernel.humming import HummingKernel
from humming.layer import HummingLayer
from humming.testing.data import generate_moe_tensors
from humming.tune import get_heuristics_config

LAUNCHES, TIMED = 10, 9


def median_us(launch):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(LAUNCHES):
            launch()
    times = []
    for _ in range(3 + TIMED):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / LAUNCHES)
    return 1e3 * sorted(times[3:])[TIMED // 2]


# A product of rows by an index; rows are token * top_k + choice, or tokens where top_k says how many choices each has.
def product(n, k, experts, chosen, top_k, rows):
    layer = HummingLayer(shape_n=n, shape_k=k, num_experts=experts, torch_dtype=torch.bfloat16,
                         weight_config={"dtype": "int4", "group_size": 128}).cuda()
    weights = torch.randn(experts, n, k, device="cuda", dtype=torch.bfloat16) * 0.05
    layer.load_from_unquantized(weights)
    layer.transform()
    config, compute = layer.humming_config, {"gemm_type": "indexed"}
    tuning = get_heuristics_config(config, shape_m=chosen.numel(), gemm_type="indexed")
    _, _, ids, of_blocks, padded = generate_moe_tensors(chosen, experts, "indexed", tuning["block_shape"][0])
    made = HummingKernel.prepare_kernels(config.to_str(), compute, [(0, 1 << 30, tuning)]).reshape(-1, 4)
    x = torch.randn(rows, k, device="cuda", dtype=torch.bfloat16)
    y = torch.empty(chosen.numel(), n, device="cuda", dtype=torch.bfloat16)
    conf = made[0].contiguous()

    def launch():
        ops.launch_kernel(configs=conf, inputs=x, weight=layer.weight, weight_scale=layer.weight_scale,
                          weight_scale_2=getattr(layer, "weight_scale_2", None),
                          zero_point=getattr(layer, "zero_point", None), outputs=y, sorted_ids=ids,
                          expert_ids=of_blocks, num_tokens_padded=padded, locks=layer.locks, top_k=top_k)
    launch()
    flat, i = chosen.flatten(), chosen.numel() // 2
    want = x[i // top_k].float() @ weights[flat[i]].float().t()
    near = torch.nn.functional.cosine_similarity(y[i].float(), want, 0).item()
    return median_us(launch), near


for word in sys.argv[1:] or ["64x2048x768x128x8"]:
    t, d, f, e, k = map(int, word.split("x"))
    torch.manual_seed(0)
    chosen = torch.randn(t, e, device="cuda").topk(k, 1).indices.int()
    for name, shape in (("up", (2 * f, d, e, chosen, k, t)), ("down", (d, f, e, chosen.reshape(-1, 1), 1, t * k))):
        try:
            us, near = product(*shape)
            print(f"humming {word} {name} {us:.2f} us, cosine {near:.4f}", flush=True)
        except Exception as wrong:
            print(f"humming {word} {name}: {type(wrong).__name__} {str(wrong)[:300]}", flush=True)
