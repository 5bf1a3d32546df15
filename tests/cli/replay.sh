# A whole run on a recorded space: resumed, exported, and the export replayed to the same winner.
R=$ROOT/tests/replay/predicted-simt_thread1d-512.json.gz
t --device "replay:$R" --strategy random --budget 60 --rows 3 -q
t --device "replay:$R" --strategy random --budget 60 --rows 1
t --device "replay:$R" --strategy exhaustive --budget 300 --rows 1
t export --format md
t export --measured -q
t export --format c -q | grep -c simt_thread1d
t export --format kt-cache -o again.json
t --device replay:again.json --strategy exhaustive --budget 300 --rows 1 --db again.db -q
t export --format t4 -o again.t4.json -q
t --device replay:again.t4.json --strategy exhaustive --budget 300 --rows 1 --db t4.db -q
gzip -dc "$R" | head -c 30000 | sed '$d' > cut.json
t --device replay:cut.json --strategy random --budget 20 --rows 1 --db cut.db -q
t --device "replay:$R" --shape 64x64x64 -q
t --device "replay:$R" --kernels simt -q
t --device replay:none.json -q
# What a recording is not of.
for other in '--l2 warm' '--dist zeros' '--timing graph'; do t --device "replay:$R" $other --budget 5 --db other-times.db -q; done
t --device "replay:$R" --l2 cold --dist normal --timing single --strategy random --budget 5 --rows 1 --db cold.db -q | sed -n 2p
ls other-times.db 2>/dev/null
t bench --shape 512x512x512 --device "replay:$R" -q
sed 's/"problem":"[^"]*",//; s/"cc":90/"cc":0/' again.json > other.json
t --device replay:other.json --budget 5 -q
t --device replay:other.json --shape 512x512x512 --arch sm_86 --budget 5 --rows 1 --db other.db -q
# A space described in T1: a part of the recorded one.
cat > mine.t1.json <<'T1'
{"ConfigurationSpace": {"TuningParameters": [
  {"Name": "BM", "Type": "int", "Values": "[2**i for i in range(5, 8)]"},
  {"Name": "BN", "Type": "int", "Values": "[32, 64]"},
  {"Name": "BK", "Type": "int", "Values": "[8, 16, 32]"},
  {"Name": "TM", "Type": "int", "Values": "[4, 8, 16]"},
  {"Name": "MIN_BLOCKS", "Type": "int", "Values": "[1]"}],
  "Conditions": [{"Parameters": ["BM", "BN", "TM"], "Expression": "64 <= BM / TM * BN <= 512 and not BK == 32"}]},
 "KernelSpecification": {"Language": "CUDA", "KernelName": "mine", "KernelFile": "mine.cu",
  "SimulationInput": "again.json", "GlobalSize": {"X": "1"}, "LocalSize": {"X": "1"}}}
T1
t --device replay:mine.t1.json --strategy exhaustive --budget 100 --rows 2 --db t1.db
sed 's/"SimulationInput": "again.json", //' mine.t1.json > bare.t1.json
t --device replay:bare.t1.json -q
t --device replay:again.json --space bare.t1.json --strategy exhaustive --budget 100 --rows 2 --db t1.db -q
t --shape 64x64x64 --space bare.t1.json -q
t --device replay:again.json --values TM=4 -q
t --arch sm_90 --shape 64x64x64 --kernels simt_naive --values 'BM=64,CM=8' -q
# Words, fractions and truths keep their identity: in the table, with and without T1, in exports and when those are replayed.
cat > words.json <<'KT'
{"device_name":"G","kernel_name":"w","tune_params_keys":["LAYOUT","F","T"],"tune_params":{"LAYOUT":["row","col","a,b"],"F":[0.5,2],"T":[true,false]},"cache":{
"row,0.5,1":{"LAYOUT":"row","F":0.5,"T":true,"time":5},"col,2,0":{"LAYOUT":"col","F":2,"T":false,"time":3},"a,b,2,1":{"LAYOUT":"a,b","F":2,"T":true,"time":4}}}
KT
cat > words.t1.json <<'T1'
{"ConfigurationSpace":{"TuningParameters":[{"Name":"T","Type":"bool","Values":"[False, True]"},{"Name":"LAYOUT","Type":"string","Values":"['a,b','col','row']"},{"Name":"F","Type":"float","Values":"[2] + [0.5]"}],"Conditions":[]},"KernelSpecification":{"KernelName":"w"}}
T1
words() { t --shape 64x64x64 --budget 20 --strategy exhaustive "$@" -q | grep -o '[A-Z]*=.*'; }
words --device replay:words.json --db words.db
words --device replay:words.json --space words.t1.json --db words.t1.db
for format in csv kt-cache t4; do "$TUNE" export --all --format $format --db words.db -q > words.$format; done
grep -o '"LAYOUT=.*",' words.csv
grep -oE '^"[^{]*|"(LAYOUT|F|T)":[^,]*(,b")?' words.kt-cache | paste -sd' '
for format in kt-cache t4; do words --device replay:words.$format --db again.$format.db; done
# What is not in the recording is left out with a remark; an objective that is not time is named; keys have no order.
sed 's/\[2\] + \[0.5\]/[2, 0.5, 4]/' words.t1.json > more.t1.json
said() { "$TUNE" --shape 64x64x64 --budget 20 "$@" 2>&1 > /dev/null | grep -E 'left out|objective|trials'| sed 's/ in [0-9.]* s//'; }
said --device replay:words.json --space more.t1.json --db more.db
"$TUNE" export --db more.db --all --format csv -q | grep -c launch_invalid
printf '\357\273\277{"cache":{"1":{"A":1,"time":5},\r\n"2":{"A":2,"time":3}},"objective":"GFLOP/s",\r\n"tune_params":{"A":[1,2]},"tune_params_keys":["A"]}\r\n' > bom.json
said --device replay:bom.json --db bom.db
# Neither a mark of UTF-8 nor the order of keys matters in what else is JSON: T1, kernels, profiles, sets, traces.
python3 - "$ROOT" <<'PY'
import json, os, sys
def reversed_keys(x):
    return {k: reversed_keys(x[k]) for k in reversed(x)} if isinstance(x, dict) else [reversed_keys(i) for i in x] if isinstance(x, list) else x
def write(path, value):
    with open(path, "w") as file:
        file.write("\ufeff" + json.dumps(reversed_keys(value), indent=1).replace("\n", "\r\n"))
read = lambda name: json.load(open(name))
write("backwards.t1.json", read("words.t1.json"))
write("backwards.json", read("words.json"))
os.mkdir("backwards")
write("backwards/backwards.json", {**read(sys.argv[1] + "/configs/kernels/simt_naive.json"), "kernel": "backwards"})
profile = read(sys.argv[1] + "/configs/devices/sm_90.json")
del profile["devices"]
write("profile.json", profile)
write("set.json", {"problems": ["64x64x4"]})
write("trace.json", {"traceEvents": [{"ph": "X", "name": "aten::mm", "cat": "cpu_op", "args": {
    "Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"]}}]})
PY
words --device replay:backwards.json --space backwards.t1.json --db backwards.db | head -n 3
t show backwards --kernels-dir backwards --problem 64x64x64 --no-compile | grep -E '^backwards|exit'
t --device predict:profile.json --kernels simt_naive --shape 64x64x4 --budget 1 -q | grep -cE 'PREDICTED'
t bench set.json --list
t bench trace.json --list
