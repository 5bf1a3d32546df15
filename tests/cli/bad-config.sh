# Descriptions and problem sets with mistakes: file, line, key, exit code 3.
cp "$ROOT/configs/kernels/simt_naive.json" base.json
sed 's/"simt_naive"/"mine"/' base.json > good.json
try() { # try NAME SED-SCRIPT: a kernels folder with one changed description
    mkdir "$1"
    sed "$2" good.json > "$1/mine.json"
    t list kernels --kernels-dir "$1" 2>&1 | grep -v '^simt\|^blocked'
}
try truncated '$d'
try colon '2s/:/=/'
try key 's/"doc"/"dokument"/'
try template 's|"template": *"[^"]*"|"template": "templates/simt/none.cu"|'
try name 's/"mine"/"yours"/'
mkdir folder; mkdir folder/mine.json
t list kernels --kernels-dir folder 2>&1 | tail -n 2
t list kernels --kernels-dir nowhere 2>&1 | tail -n 2
echo '{"problems": ["64x64x64", 7]}' > list.json
t --arch sm_86 --shapes list.json
printf '{\n  "problems": ["64x64x64"\n}\n' > broken.json
t --arch sm_86 --shapes broken.json
printf '64x64x64\n64x64\n' > lines.txt
t --arch sm_86 --shapes lines.txt
: > empty.txt
t --arch sm_86 --shapes empty.txt
t --arch sm_86 --shapes missing.txt
