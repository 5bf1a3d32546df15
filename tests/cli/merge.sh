# The union of two databases.
need_nvrtc
t --arch sm_86 --shape 128x128x128 --kernels simt_naive --budget 3 --db one.db -q > /dev/null
t --arch sm_86 --shape 256x128x128 --kernels simt_naive --budget 3 --db two.db -q > /dev/null
t merge one.db two.db --db both.db
t merge one.db --db both.db
t export --db both.db --all -q | wc -l
t merge none.db --db both.db
t merge both.db --db both.db
# A source that is refused leaves no target behind, and none that was to be taken before it.
: > empty.db
t merge empty.db --db refused.db
t merge one.db empty.db --db refused.db
ls refused.db* 2> /dev/null
