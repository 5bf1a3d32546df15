# Everything that can be listed, also as JSON.
t list kernels | grep -E "^(kernel|simt_naive|simt_warptile) |exit"
t list kernels --json | grep -E '"kernel":.*"simt_(naive|warptile)"'
t list devices
t list strategies
