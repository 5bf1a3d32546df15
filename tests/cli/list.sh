# Everything that can be listed, also as JSON.
t list kernels
t list kernels --json | head -n 12
t list devices
t list strategies
