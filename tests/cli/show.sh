# One candidate at every stage.
t show simt_warptile TM=4,TN=8 --problem 4096x4096x4096:f32:nt --arch sm_86
t show simt_warptile BK=32,VEC=4 --problem 1000x1001x1002 --no-compile
t show simt_naive --source | head -n 12
t show simt_naive --problem 64x64x64:f16
