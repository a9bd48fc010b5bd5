"""Samples of what tensors are asked of their types, sizes and memory, as PyTorch answers."""

# ruff: noqa: E501  (some samples are long)

from .tables import calls

TENSORS = calls("""
x.type(), f.type(), k.type(), b.type(), u.type(), c.type(), f.half().type()
x.type(torch.float32), x.type('torch.LongTensor'), k.type(torch.FloatTensor), x.type(torch.DoubleTensor), b.type(torch.int32)
x.type('no')
x.new_zeros(2), x.new_ones((2, 3)), x.new_full((2,), 3.0), x.new_tensor([1, 2]), k.new_zeros(2, 2), x.new_empty(2).shape, x.new_zeros(2, dtype=torch.int64)
x.new(2, 3).shape, x.new([1.0, 2.0]), x.new().shape, k.new([1, 2])
f.clone().resize_(3, 2), f.clone().resize_(2, 2), torch.empty(0).resize_as_(f).shape, x.detach().clone().resize_as_(v.detach())
x.clone().requires_grad_().resize_(6)
torch.as_strided(v, (2,), (2,)), v.as_strided((2, 2), (1, 1)), x.as_strided((3, 2), (1, 3)), x.as_strided((2,), (1,), 2), v.clone().as_strided((2, 2), (1, 1))
x.clone().as_strided((2, 2), (4, 4))
torch.numel(x), torch.is_floating_point(x), torch.is_floating_point(k), torch.is_complex(c), torch.get_num_threads() > 0, torch.is_tensor(x)
torch.accelerator.is_available(), torch.accelerator.device_count(), torch.accelerator.synchronize() if torch.accelerator.is_available() else None
(torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else 'cpu')
x[1:].storage_offset(), x[:, 2].storage_offset(), x.storage_offset()
torch.__version__[:4], torch.compile is not None, torch.jit.is_scripting()
x.is_floating_point(), x.H, x.mH, c.mH
isinstance(x.type(torch.long), torch.LongTensor), x.to(torch.device('cpu')), x.dtype == torch.float64, x.cpu()
""")
