// tiny_more.cuh - an include of an include, found beside it.
#define TINY_MORE 1
