# A line for each thing that tuning needs.
need_nvrtc
[[ -e /dev/nvidia0 ]] && skip "there is a GPU here"
t doctor
GEMMTUNE_LIBNVRTC=$PWD/none t doctor --json | grep -A 1 NVRTC
t doctor --db /proc/gemmtune.db | grep database
t doctor --db none/gemmtune.db | grep database
echo 'shopping list: milk' > text.db
t doctor --db text.db | grep database
