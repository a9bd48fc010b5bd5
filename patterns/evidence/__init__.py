"""What rules reason with, each fact in one place. Nothing here knows a rule.

obstacles   why a rule cannot check a trace, or need not
devices     which devices took part, when they worked and when they idled
loops       the step that a time is in; what repeats, in steps or in a sequence
autograd    threads and ops of the backward, and what was recorded for no backward
collectives what ranks and devices say to each other, and the passes of DistributedDataParallel
places      whose code something is, its place in the source, grouping by place
frames      files and functions of PyTorch and of tidy.runtime, as Python frames name them
launches    rows by name, calls of the driver, and the op that launched some device work
copies      copies between host and device, their size, and what is made to be copied
uploads     copies that a program asks for, from which memory, and what they cost
lookups     lookups on a device whose index comes from the host
waits       calls in which the host waits for a device, who asks for them, and what they cost
allocator   calls that take memory from the driver or give it back
memory      who holds memory of a device, and how much there is of it
lifetimes   for how long memory is in use, and which of it are activations
recording   how good a recording is: what is cold, what was lost, whether clocks agree
timing      how much of some time falls to intervals, and which share is worth a warning
"""
