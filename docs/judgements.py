"""What people who read the published traces say of them, and of what tidy reports as a warning.

For each trace, by the beginning of its file's name: what a performance engineer would say first,
where the report says it, and why each warning is right. The traces are from HTA's tests, Kineto's
and PARAM's examples, TraceLens' examples, and three from public repositories.
"""

from __future__ import annotations

from typing import NamedTuple


class Judged(NamedTuple):
    """One trace.

    Attributes:
        first: what to say first of this run.
        said: where the report says it; "no: ..." with the reason where it does not.
        right: by the code of a rule, why its warning is right.
    """

    first: str
    said: str
    right: dict[str, str] = {}  # noqa: RUF012 - never changed


_LAUNCHES = "between its kernels the device waits for the next launch, which the host makes late"
_COMMUNICATION = (
    "kernels of NCCL or RCCL run while no other kernel does, by the sum of the raw JSON"
)

TRACES = {
    "hta__amd_trace": Judged(
        "a toy of a few kernels, the first step of a process: nothing to learn but the launches",
        "TDY003; account: compiling and first calls",
        {"TDY201": "`aten::randn` on the CPU, then `aten::to` copies it, twice in the step"},
    ),
    "hta__cpu_only": Judged(
        "it waits in Gloo's all-reduces for 85 % of the step; the file holds one operator",
        "account: waiting for another process; rules not checked for want of device work",
    ),
    "hta__critical_path__alexnet": Judged(
        "first launches: the device idles for 90 % while cuDNN and memory are set up",
        "TDY003; account: not counted, compiling and first calls",
    ),
    "hta__critical_path__cuda_event_sync": Judged(
        "a demonstration of events on four streams, 2 % busy", "account: idle, launching"
    ),
    "hta__execution_trace__benchmark_simple_add_trace": Judged(
        "a benchmark of one addition, whose inputs are made on the CPU",
        "account: idle, work on the CPU; savings abstain",
    ),
    "hta__history": Judged(
        "launch-bound: 25 kernels of 2 us in a step of 1.5 ms",
        "TDY402, first",
        {
            "TDY402": f"the GPU is busy for 4 %; {_LAUNCHES}",
            "TDY401": "a quarter of the step passes between operators, with the GPU idle",
            "TDY601": "SGD's step has one `add_` with a launch for each of its 4 parameters",
            "TDY603": "`zero_grad` fills 4 gradients, each with a launch; backward adds to them",
        },
    ),
    "hta__mtia_inference": Judged(
        "the accelerator is busy for 95 %: look at its kernels, `merge` above all",
        "account: computes, at `merge`",
    ),
    "hta__nccl_parser_config": Judged(
        "the host cannot keep up: 900 kernels and 159 buffer copies a step, GPU busy 24 %",
        "TDY402 and TDY906, first",
        {
            "TDY402": f"the idle stretches lie before launches; {_LAUNCHES}",
            "TDY602": "SGD with momentum runs `_foreach` passes while the GPU waits for them",
            "TDY906": "each forward begins with two broadcasts and 159 copies back, for 53 norms",
        },
    ),
    "hta__negative_queue_length": Judged(
        "kernels of its CUDA graphs are missing, so idle time is unknown; all-reduces are exposed",
        "account: kernels of graphs that were not recorded; TDY901",
        {"TDY901": f"{_COMMUNICATION}; 1 % of it is hidden"},
    ),
    "hta__rank_non_gpu": Judged(
        "the device's part was not recorded", "device rules not checked, with what to record"
    ),
    "hta__timeline_analysis__sampled": Judged(
        "a recommender of 128 ranks, of which the file keeps a part: all-to-all is exposed",
        "the note on what the file leaves out; TDY901",
        {"TDY901": f"{_COMMUNICATION}, most of it all-to-all of the embeddings"},
    ),
    "hta__trace_filter__sampled_rank-0": Judged(
        "a recommender of 128 ranks, of which the file keeps a part: all-to-all is exposed",
        "the note on what the file leaves out; TDY901",
        {"TDY901": f"{_COMMUNICATION}, most of it all-to-all of the embeddings"},
    ),
    "hta__trace_filter__sampled_rank-1": Judged(
        "a recommender of 128 ranks, of which the file keeps a part: all-to-all is exposed",
        "the note on what the file leaves out; TDY901",
        {"TDY901": f"{_COMMUNICATION}, most of it all-to-all of the embeddings"},
    ),
    "hta__triton_example": Judged(
        "one Triton kernel of 1.8 us, and nothing else; the step of 13 s is of another process",
        "account: launching; 13 s that hold no event are not counted",
    ),
    "kineto__resnet50_num_workers_0": Judged(
        "the loader has no workers: the GPU waits a quarter of each step for images",
        "TDY101, first, at the line of the loop",
        {
            "TDY101": "`_SingleProcessDataLoaderIter` takes 45 ms a step, with the GPU idle; the"
            " published run with four workers has steps of 125 ms",
            "TDY601": "161 parameters, three ops each, in 21 ms of a step whose host is late",
            "TDY603": "`zero_grad` fills 161 gradients in 6 ms, and backward adds to each",
        },
    ),
    "kineto__resnet50_num_workers_4": Judged(
        "compute-bound in float32 on a V100: mixed precision; and the copies are not pinned",
        "account: products on ordinary cores; TDY502 as info, since the host hides much; TDY103",
        {
            "TDY103": "each batch is copied as `Pageable -> Device`, and the host waits for it",
            "TDY603": "`zero_grad` fills 161 gradients in 6 to 7 ms, and backward adds to each",
        },
    ),
    "misc__particle_transformer": Judged(
        "launch-bound inference: 553 kernels of 10 us in 32 ms",
        "TDY402, first",
        {
            "TDY402": f"the GPU is busy for 17 %; {_LAUNCHES}",
            "TDY401": "a sixth of the run passes between operators, with the GPU idle",
            "TDY506": "165 casts, with the GPU idle for 4 ms; all else in half precision takes 2.4",
        },
    ),
    "misc__sidnb13": Judged(
        "steps of 0.9 ms with 16 kernels: launch-bound, and slowed by the recording of stacks",
        "TDY402; TDY401 says that stacks slow the host",
        {"TDY402": f"the GPU is busy for 13 %; {_LAUNCHES}"},
    ),
    "misc__zoology": Judged(
        "launches without a kernel: the device's part was lost",
        "rules not checked, with the reason; no device in the account",
    ),
    "param__dlrm__dlrm_kineto__worker0": Judged(
        "all-to-all is exposed, then launches; this rank comes late to two collectives",
        "TDY901 and TDY402; with the other rank's trace TDY902",
        {
            "TDY101": "1.1 ms in `_SingleProcessDataLoaderIter`, with the GPU idle",
            "TDY402": f"245 kernels of 3 us; {_LAUNCHES}",
            "TDY601": "Adagrad updates one tensor after the other, with the GPU idle between",
            "TDY901": f"{_COMMUNICATION}: 5.5 ms of 14.5",
        },
    ),
    "param__dlrm__dlrm_kineto__worker1": Judged(
        "more than half of the step is exposed all-to-all, half of that waiting for rank 0",
        "TDY901; with the other rank's trace TDY902",
        {
            "TDY101": "1.1 ms in `_SingleProcessDataLoaderIter`, of which the GPU idles for 0.9",
            "TDY402": f"246 kernels of 3 us; {_LAUNCHES}",
            "TDY601": "Adagrad updates one tensor after the other, with the GPU idle between",
            "TDY901": f"{_COMMUNICATION}: 11.1 ms of 19.9",
        },
    ),
    "param__linear_kineto": Judged(
        "the host is the bottleneck: 220 kernels of 14 us a step, and a fill for each gradient",
        "TDY402 and TDY603",
        {
            "TDY402": f"the GPU is busy for 37 %; {_LAUNCHES}",
            "TDY603": "42 fills in 1.4 ms of a step, and as many additions, while the GPU idles",
        },
    ),
    "tracelens__gemm_01": Judged(
        "products that leave most processors of the GPU without a tile",
        "no: tiles are not looked at; the account says that products take all of the time",
    ),
    "tracelens__gemm_02": Judged(
        "bfloat16 products with a side of 1025: pad it", "TDY503, as info: sizes may be no choice"
    ),
    "tracelens__h100__Qwen": Judged(
        "elementwise kernels take more than half of a busy GPU: compile or fuse",
        "account: elementwise, 56 %; TDY403, by as much as the GPU is behind: the one step begins"
        " with a wait for work that was launched before, which the replay cannot shorten",
        {
            "TDY403": "RMSNorm by hand in each of 24 layers, twice, and the rotation of queries and"
            " keys: 25 GB are written and read where 5 would do, with the GPU 92 % busy",
        },
    ),
    "tracelens__h100__facebook_timesformer": Judged(
        "images are prepared on the CPU while the GPU waits; then attention without a fused kernel",
        "TDY407 and TDY504, in this order",
        {
            "TDY407": "`_preprocess_image` takes 218 of 383 ms, with the GPU idle",
            "TDY504": "12 layers write scores of 8x12x3137x3137, take their softmax, and read them",
        },
    ),
    "tracelens__h100__gaunernst": Judged(
        "launch-bound: 60 kernels of 5 us in 4.4 ms",
        "TDY402, first",
        {"TDY402": f"the GPU is busy for 7 %; {_LAUNCHES}"},
    ),
    "tracelens__mi300__Falconsai": Judged(
        "launch-bound: 155 kernels of 8 us in 7.5 ms",
        "TDY402, first",
        {"TDY402": f"the GPU is busy for 23 %; {_LAUNCHES}"},
    ),
    "tracelens__mi300__gaunernst": Judged(
        "launch-bound: 60 kernels of 5 us in 4 ms",
        "TDY402, first",
        {"TDY402": f"the GPU is busy for 10 %; {_LAUNCHES}"},
    ),
    "tracelens__mi300__resnet_act_checkpoint": Judged(
        "two thirds of each step is exposed communication, for a model too small for eight ranks",
        "TDY901",
        {
            "TDY901": f"{_COMMUNICATION}: 23 of the 38 ms of two steps",
            "TDY204": "convolutions begin and end with kernels that transpose, those of 1x1 with a"
            " stride to CNHW and back around a product, and nobody waits for the GPU: they hold"
            " it up",
            "TDY906": "DDP packs, sends and unpacks 60 buffers of batch norms before each forward",
        },
    ),
}
