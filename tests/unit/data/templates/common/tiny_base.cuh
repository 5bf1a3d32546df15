// tiny_base.cuh - an include of the unit tests' template.
#include "tiny_more.cuh"
