# tools/fallen: what fell by more than a per cent, with the spelling of an older table, since a commit and since the first.
command -v python3 >/dev/null || skip "python3 is not installed"
command -v git >/dev/null || skip "git is not installed"
mkdir -p tree/db/measured tree/tools && cp "$ROOT/tools/fallen" tree/tools/ && git init -q tree
commit() { git -C tree add -A && git -C tree -c user.name=t -c user.email=t@example.org commit -qm "$1"; }
fallen() { tree/tools/fallen "$@"; echo "[exit $?]"; }
cat >tree/db/measured/stub-own.csv <<'CSV'
device,dtype,accuracy,layout,m,n,k,batch,point,us,cublas_us,ratio
Stub,bf16,low,nn,16,16,16,1,"BM=64,BN=64",10,11,1.100
Stub,f32,f32,nt,16,16,16,4,"BM=64",15,30,2.000
Stub,f16,low,tn,32,16,16,1,"BM=64",1000,1005,1.005
Stub,f16,low,tn,48,16,16,1,"BM=64",1000,990,0.990
Stub,f16,low,tn,64,16,16,1,"BM=64",1000,1000,1.000
CSV
printf 'kernel,m,n,k,dtype,layout,ratio\na,1,1,1,f32,nn,3\nb,1,1,1,f32,nn,2\n' >tree/db/measured/stub-several.csv
printf 'problem,us\n16x16x16:f32:nn,3\n' >tree/db/measured/stub-times.csv
commit first
echo "== nothing has changed"
fallen
echo "== one less is within a per cent, one was below 1 before, one is not in the table any more"
cat >tree/db/measured/stub-own.csv <<'CSV'
device,dtype,accuracy,layout,m,n,k,batch,us,cublas_us,ratio,problem
Stub,bf16,low,nn,16,16,16,1,10,10.8,1.080,16x16x16:bf16:nn
Stub,f32,f32,nt,16,16,16,4,20,30,1.500,16x16x16:f32:nt:batch=4:accuracy=f32
Stub,f16,low,tn,32,16,16,1,1000,996,0.996,32x16x16:f16:tn
Stub,f16,low,tn,48,16,16,1,2,1,0.500,48x16x16:f16:tn
CSV
printf 'problem,ratio\n16x16x16:s8:nn,1.5\n' >tree/db/measured/later-own.csv
fallen stub
commit second
echo "== since a commit, and of a table that is younger than it"
sed -i 's/,0.996,/,0.900,/' tree/db/measured/stub-own.csv
sed -i 's/1.5$/0.7/' tree/db/measured/later-own.csv
fallen --since HEAD
fallen --since HEAD~1 --by 40
echo "== words"
fallen --since nowhere 2>&1 | tail -n 2
fallen nobody 2>&1 | tail -n 2
