"""Recorded traces that have what a rule looks at, and are fine."""

from __future__ import annotations

from typing import NamedTuple


class Control(NamedTuple):
    """What a rule looks at, and traces that have it and in which the rule finds nothing.

    Attributes:
        sees: names of events of which each trace has some, of one of them or more.
        traces: what their files' names begin with.
    """

    sees: tuple[str, ...]
    traces: tuple[str, ...]


_QWEN = "tracelens__h100__Qwen_Qwen1.5-0.5B-Chat"
_BERT, _MI300_BERT = (
    f"tracelens__{gpu}__gaunernst_bert-small-uncased" for gpu in ("h100", "mi300")
)
_TIMESFORMER = "tracelens__h100__facebook_timesformer"
_NSFW = "tracelens__mi300__Falconsai_nsfw_image_detection"
_CHECKPOINT = "tracelens__mi300__resnet_act_checkpoint"
_FEW_TILES = "tracelens__gemm_01_compute_few_tiles"
_RESNET_0, _RESNET_4 = "kineto__resnet50_num_workers_0", "kineto__resnet50_num_workers_4"
_RANK_0, _NCCL = "hta__negative_queue_length", "hta__nccl_parser_config"
_SAMPLED = "hta__trace_filter__sampled_rank-0"
_MTIA, _ALEXNET = "hta__mtia_inference_trace", "hta__critical_path__alexnet"
_DLRM = "param__dlrm__dlrm_kineto__worker0_step_12"
_LINEAR = "param__linear_kineto"
_SIDNB, _PARTICLE = "misc__sidnb13", "misc__particle_transformer"

CONTROLS = {
    # A compiled function that stays whole.
    "TDY002": Control(("Torch-Compiled Region*",), ("hta__triton_example",)),
    # Libraries ask for properties of devices and of kernels that are loaded, and launch modules.
    "TDY003": Control(("cudaFuncGetAttributes", "hipModule*"), (_QWEN, _NSFW, _MI300_BERT)),
    # Steps are marked, two and more.
    "TDY004": Control(("ProfilerStep#*",), (_RANK_0, _RESNET_4, _CHECKPOINT)),
    # Each launch has its kernel.
    "TDY005": Control(("cudaLaunchKernel",), (_RESNET_0, _RESNET_4, _LINEAR)),
    # When the host has waited for the device, all that was launched is done.
    "TDY006": Control(("*DeviceSynchronize",), (_ALEXNET, _NCCL, _QWEN)),
    # Values are read, by the script's own lines: nothing looks for NaN.
    "TDY009": Control(("aten::item",), (_RANK_0, _DLRM, _MTIA)),
    # Workers load the batches.
    "TDY101": Control(
        ("enumerate(DataLoader)#_Multi*",),
        (_RESNET_4, "dataloader_workers2", "train_sched_good_cycle0"),
    ),
    # The first loader and the last work in the process itself; of the second the batches are ready.
    "TDY102": Control(("enumerate(DataLoader)#*",), (_RESNET_0, _RESNET_4, _DLRM)),
    # A few hundred bytes and, in the last, all inputs once.
    "TDY103": Control(("Memcpy HtoD (Pageable*",), (_RANK_0, _SAMPLED, _TIMESFORMER)),
    # No call waits for what is copied from pinned memory.
    "TDY104": Control(("Memcpy HtoD (Pinned*",), (_RANK_0, _DLRM)),
    # Items are rows of a tensor.
    "TDY105": Control(("enumerate(DataLoader)#_Single*",), ("dataloader_sync", "data-set")),
    # Pictures and other data of the run: nothing was filled on the CPU.
    "TDY201": Control(("Memcpy HtoD (Pageable*",), (_RESNET_0, _RANK_0, _TIMESFORMER)),
    # A few results go down, and batches of other sizes come up.
    "TDY202": Control(("Memcpy DtoH*",), (_RANK_0, _SAMPLED, _DLRM)),
    # Norms in float32 between layers in bfloat16; sums in double.
    "TDY203": Control(("aten::_to_copy",), (_QWEN, _RANK_0, _SAMPLED)),
    # Copies of what was transposed, for views and for heads that are put side by side; two
    # convolutions of many in another layout.
    "TDY204": Control(
        ("aten::contiguous", "*nchwToNhwc*"), (_QWEN, _TIMESFORMER, _PARTICLE, _RESNET_0)
    ),
    # Copies of gradients into buckets and of buffers, by DistributedDataParallel and the engine.
    "TDY205": Control(("Memcpy DtoD*",), (_RANK_0, _NCCL, _CHECKPOINT)),
    # One value is read in all.
    "TDY301": Control(("aten::item",), (_QWEN, _BERT, _MI300_BERT)),
    # The one wait for the device is the profiler's, at its end.
    "TDY302": Control(("*DeviceSynchronize",), (_LINEAR, _NCCL, _CHECKPOINT)),
    # One wait for fifty launches, and fewer.
    "TDY303": Control(("cuda*Synchronize",), (_RESNET_0, _RANK_0, _NCCL)),
    # Python calls operators, and the device has work enough meanwhile; in the last it idles for
    # preprocessing, of which TDY407 tells.
    "TDY401": Control(("*.py(*): forward",), (_QWEN, _CHECKPOINT, _TIMESFORMER)),
    # Kernels that take longer than their launches, and collectives that do.
    "TDY402": Control(("cudaLaunchKernel", "hip*Launch*"), (_RESNET_0, _QWEN, _CHECKPOINT)),
    # Elementwise ops with products and convolutions between them.
    "TDY403": Control(("aten::add*", "aten::gelu"), (_RESNET_4, _TIMESFORMER, _BERT)),
    # Nine rounds; tensors of a list, each indexed once; a sample a step.
    "TDY404": Control(
        ("aten::select",), ("forloop_index_9", "list-of-tensors", "one-sample-a-step")
    ),
    # Halves of rotary embeddings; where the bags of each table begin and end.
    "TDY406": Control(("aten::slice",), (_QWEN, _MTIA)),
    # Rotary embeddings, class tokens, parts of features: of the same dims each time.
    "TDY408": Control(("aten::cat",), (_QWEN, _TIMESFORMER, _PARTICLE)),
    # Numbers of Python become tensors, and not those of a tensor that was read.
    "TDY409": Control(("aten::lift_fresh",), (_RANK_0, _DLRM, "opt_adam_foreach")),
    # TF32 is on, or products are in half precision.
    "TDY501": Control(("aten::*mm",), (_SIDNB, _TIMESFORMER, _BERT)),
    # Half precision.
    "TDY502": Control(("aten::*mm",), (_QWEN, _TIMESFORMER, _BERT)),
    # Sizes that fit; float32.
    "TDY503": Control(("aten::*mm",), ("mm_bf16_aligned", "mm_fp32", _SIDNB)),
    # Attention is fused already.
    "TDY504": Control(("aten::scaled_dot_product_attention",), (_QWEN, _BERT, _NSFW)),
    # Products in float32, bfloat16, and both.
    "TDY505": Control(("aten::*mm",), (_RESNET_0, _CHECKPOINT, _QWEN)),
    # Casts that scripts and libraries ask for, beside products in half precision.
    "TDY506": Control(("aten::copy_",), (_QWEN, _TIMESFORMER, _RANK_0)),
    # All parameters in a few ops, or in one.
    "TDY601": Control(
        ("Optimizer.step#*",), ("opt_adam_foreach", "opt_sgd_foreach", "opt_sgd_fused")
    ),
    # SGD without momentum: one pass as it is.
    "TDY602": Control(("aten::_foreach_*",), (_LINEAR,)),
    # Gradients are dropped.
    "TDY603": Control(
        ("Optimizer.zero_grad*",), ("zerograd_true", _CHECKPOINT, "opt_adam_foreach")
    ),
    # Norms that Shampoo keeps on the device, and numbers that are read for another reason.
    "TDY604": Control(("aten::linalg_vector_norm",), (_SAMPLED,)),
    # No bias, or an activation between it and the norm.
    "TDY701": Control(("aten::batch_norm",), ("conv_bn_nobias", "conv_relu_bn_bias", _CHECKPOINT)),
    # Allocators hold 4 of 79 GiB at the most.
    "TDY803": Control(("[memory]",), (_QWEN, _TIMESFORMER, _PARTICLE)),
    # What is in use is a small part of what the device has.
    "TDY805": Control(("[memory]",), (_SIDNB, "device_training", "device_parallel")),
    # Little is sent, by devices that come together.
    "TDY901": Control(("nccl*",), ("device_parallel",)),
    "TDY902": Control(("nccl*",), ("device_parallel",)),
    # A process for each GPU, with DistributedDataParallel.
    "TDY903": Control(("DistributedDataParallel.forward",), (_RANK_0, _NCCL, _CHECKPOINT)),
    # A few large buckets a step.
    "TDY904": Control(("c10d::allreduce_",), (_RANK_0, _NCCL, _SAMPLED)),
    # One forward in each step: nothing is accumulated.
    "TDY905": Control(("nccl*",), (_RANK_0, _NCCL, _CHECKPOINT)),
    # Models without buffers.
    "TDY906": Control(("DistributedDataParallel.forward",), (_RANK_0, _SAMPLED, _DLRM)),
}
