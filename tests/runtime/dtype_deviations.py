"""Where a sample in another dtype does not end as in PyTorch, by reason: dtype, operators.

Read by questions.py; test_golden.py fails for one that is missing here or no longer true.
"""

DEVIATIONS = {
    "PyTorch wants further operands of the first one's dtype; here they promote": {
        "float32": ["batch_norm"],
        "float16": ["batch_norm"],
        "bool": ["lerp_"],
    },
    "PyTorch has a complex32 that numpy has not: complex64 is in its place": {
        "float16": "fft view_as_real complex view_as_complex".split()
    },
    "numpy orders complex numbers by their parts; PyTorch does not": {
        "complex64": [
            *(
                "fmax fmin sign relu maximum minimum amax amin max min hardtanh relu6 relu_ sign_ "
                "hardtanh_ lt le gt ge greater less all any _foreach_maximum _foreach_minimum "
                "_foreach_maximum_ _foreach_minimum_"
            ).split(),
            "x[x > -5]",
            *(f"{a} {o} {b}" for a, b in ("xy", ("0.5", "x")) for o in ("<", "<=", ">", ">=")),
        ]
    },
    "PyTorch has no kernel for these on the CPU, or refuses them; numpy computes them": {
        "complex64": (
            "round leaky_relu softplus logsigmoid mse_loss smooth_l1_loss huber_loss nll_loss "
            "binary_cross_entropy_with_logits kl_div hardswish hardsigmoid cosine_similarity "
            "avg_pool2d avg_pool1d adaptive_avg_pool2d adaptive_avg_pool1d abs_ round_ "
            "leaky_relu_ xlogy"
        ).split(),
        "int64": (
            "frac lerp addcdiv leaky_relu softplus silu logsigmoid mse_loss "
            "smooth_l1_loss huber_loss nll_loss logaddexp hypot mish hardswish hardsigmoid "
            "max_pool1d adaptive_avg_pool2d adaptive_avg_pool1d norm lerp_ leaky_relu_ round "
            "rand_like randn_like normal _foreach_addcdiv _foreach_lerp _foreach_lerp_ "
            "_foreach_norm where"
        ).split(),
        "uint8": (
            "frac lerp addcdiv leaky_relu softplus silu logsigmoid mse_loss "
            "smooth_l1_loss huber_loss nll_loss logaddexp hypot mish hardswish hardsigmoid conv1d "
            "conv2d max_pool1d avg_pool2d avg_pool1d adaptive_avg_pool2d adaptive_avg_pool1d norm "
            "lerp_ leaky_relu_"
        ).split(),
        "bool": [
            *(
                "nanmedian floor ceil trunc round frac relu addcmul "
                "addcdiv mm bmm dot linear einsum leaky_relu softplus hardtanh logaddexp hypot "
                "clamp topk median baddbmm relu6 mish hardswish hardsigmoid conv1d conv2d "
                "avg_pool2d avg_pool1d adaptive_avg_pool2d adaptive_avg_pool1d cholesky "
                "matmul mv addmv addbmm leaky_relu_"
            ).split(),
            "x @ y",
        ],
    },
    "numpy has no normal distribution of complex numbers": {"complex64": ["normal"]},
    "PyTorch cuts the factor to an integer; here it makes the result floating": {
        "int64": "_foreach_addcmul _foreach_addcmul_".split()
    },
}
