# stubs.mk - for the Makefile: libraries and programs that stand for CUDA, cuBLAS and programs that use them.
#
# A CUDA driver, compiler, cuBLASLt and NVML for tests without a GPU (tests/faults/stub_*.c).
STUBS := $(addprefix $(BUILD)/stub/,libcuda.so.1 libnvrtc.so.13 libcublasLt.so.13 libnvidia-ml.so.1)
STUB_CFLAGS = $(filter-out -MMD -MP,$(GT_CFLAGS)) -O3 -shared
$(BUILD)/stub/libcuda.so.1: $(addprefix tests/faults/stub_,cuda.c memory.c graph.c launch.c power.c) \
		$(addprefix $(BUILD)/stub/stub_,proof.o gemm.o reference.o)
$(BUILD)/stub/libnvrtc.so.13: tests/faults/stub_nvrtc.c
$(BUILD)/stub/libcublasLt.so.13: tests/faults/stub_cublaslt.c
$(BUILD)/stub/libnvidia-ml.so.1: tests/faults/stub_nvml.c
$(STUBS): $(wildcard tests/faults/stub_*.h) src/cuda/cuda_api.h templates/proof/args.h | $(SETUP)
	$(SAY)
	$(Q)$(CC) $(STUB_CFLAGS) $(filter %.c %.o,$^) -o $@ $(LDFLAGS) -ldl -lm
# What computes in place of a GPU has no sanitizer: it would take 15 times as long, and it is not under test.
$(BUILD)/stub/stub_gemm.o $(BUILD)/stub/stub_reference.o: $(BUILD)/stub/%.o: tests/faults/%.c $(wildcard tests/faults/stub_*.h) templates/proof/args.h | $(SETUP)
	$(SAY)
	$(Q)$(CC) $(filter-out -MMD -MP -fsanitize=% -fno-sanitize-recover=%,$(GT_CFLAGS)) -O3 -c $< -o $@
$(BUILD)/stub/stub_proof.o: tests/faults/stub_proof.cc $(wildcard templates/proof/*) | $(SETUP)
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -Wall -Wextra -Wno-unknown-pragmas -fPIC -O2 -Itemplates -Itests/emu -c $< -o $@

# ThreadSanitizer asks dlsym for functions before it has begun.
ifeq ($(SAN),thread)
$(addprefix $(BUILD)/src/serve/,hooks.o names.o real.o): GT_CFLAGS := $(filter-out -fsanitize=%,$(GT_CFLAGS)) -fno-builtin
endif

# Stubs of cuBLAS for programs under the preloaded library, and the program of the tests: `calls` is
# linked to version 13, `calls-12` to version 12.
STUB_BLAS := $(BUILD)/stub/blas
SERVE_TEST := $(BUILD)/tests/serve/calls
EXTENSIONS := $(patsubst %,$(BUILD)/tests/serve/extension-%.so,12 13 renamed static)
STUBS_BLAS := $(foreach v,12 13,$(STUB_BLAS)/libcublas.so.$(v) $(STUB_BLAS)/libcublasLt.so.$(v))
define BLAS_VERSION
$(STUB_BLAS)/libcublasLt.so.$(1): tests/serve/stub_blas_lt.c $(BUILD)/stub/stub_proof.o
$(STUB_BLAS)/libcublas.so.$(1): tests/serve/stub_blas.c | $(STUB_BLAS)/libcublasLt.so.$(1)
$(STUB_BLAS)/libcublas.so.$(1): LDFLAGS += -L$(STUB_BLAS) -l:libcublasLt.so.$(1)
endef
$(foreach v,12 13,$(eval $(call BLAS_VERSION,$(v))))
$(STUBS_BLAS): tests/serve/stub_blas.h src/serve/blas.h $(wildcard tests/serve/*.map) | $(SETUP)
	$(SAY)
	$(Q)sed 's/so\.13/so$(suffix $@)/' $(patsubst %.c,%.map,$(filter %.c,$^)) > $@.map
	$(Q)$(CC) $(STUB_CFLAGS) -DSTUB_MAJOR=$(patsubst .%,%,$(suffix $@)) -Itests/serve -Wl,-soname,$(@F) \
		$(filter %.c %.o,$^) -o $@ -Wl,--version-script=$@.map $(LDFLAGS) -lm
# A copy of cuBLAS with names of its own, as wheels have it, and one inside of an extension, whose
# functions end by calling it; the other ones' do not.
RENAMED := 1f3a
$(STUB_BLAS)/libcublas-$(RENAMED).so.13: tests/serve/stub_blas.c tests/serve/stub_blas_lt.c $(BUILD)/stub/stub_proof.o $(STUBS_BLAS)
	$(Q)for part in cublasLt cublas; do \
		$(CC) $(STUB_CFLAGS) -DSTUB_MAJOR=13 -Itests/serve -Wl,-soname,lib$$part-$(RENAMED).so.13 \
			tests/serve/stub_blas$$([ $$part = cublas ] || echo _lt).c $(filter %.o,$^) -o $(@D)/lib$$part-$(RENAMED).so.13 \
			-Wl,--version-script=$(@D)/lib$$part.so.13.map $(LDFLAGS) \
			$$([ $$part = cublasLt ] || echo -L$(@D) -l:libcublasLt-$(RENAMED).so.13) -lm || exit; done
$(BUILD)/tests/serve/extension-static.so: $(addprefix tests/serve/,extension.c stub_blas.c stub_blas_lt.c) $(BUILD)/stub/stub_proof.o
	@mkdir -p $(@D)
	$(Q)$(CC) $(STUB_CFLAGS) -DSTUB_MAJOR=13 -Itests/serve $^ -o $@ $(LDFLAGS) -lm
$(BUILD)/tests/serve/extension-renamed.so: $(STUB_BLAS)/libcublas-$(RENAMED).so.13
$(BUILD)/tests/serve/extension-%.so: tests/serve/extension.c tests/serve/extension.h $(STUBS_BLAS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(STUB_CFLAGS) -fno-optimize-sibling-calls -Itests/serve $< -o $@ -L$(STUB_BLAS) \
		-l:libcublas$(if $(filter renamed,$*),-$(RENAMED).so.13,.so.$*) -Wl,-rpath-link,$(STUB_BLAS) $(LDFLAGS)
$(BUILD)/tests/serve/copies: tests/serve/copies.c $(BUILD)/stub/libcuda.so.1 $(EXTENSIONS)
	$(Q)$(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) $< -o $@ -L$(BUILD)/stub -l:libcuda.so.1 -Wl,-rpath-link,$(BUILD)/stub \
		$(LDFLAGS) -ldl
PRELOADS := $(patsubst %,$(BUILD)/tests/serve/%.so,fail_malloc wrapper auditor)
$(PRELOADS): $(BUILD)/tests/serve/%.so: tests/serve/%.c | $(SETUP)
	@mkdir -p $(@D)
	$(Q)$(CC) $(STUB_CFLAGS) $< -o $@ $(LDFLAGS) -ldl
$(BUILD)/tests/serve/wrapper-products.so: tests/serve/wrapper.c | $(SETUP)
	$(Q)$(CC) $(STUB_CFLAGS) -DPRODUCTS_ONLY $< -o $@ $(LDFLAGS) -ldl
$(BUILD)/tests/serve/early.so: tests/serve/early.c $(STUBS_BLAS) $(BUILD)/stub/libcuda.so.1
	$(Q)$(CC) $(STUB_CFLAGS) -DSTUB_MAJOR=13 -Itests/serve $< -o $@ -L$(STUB_BLAS) -L$(BUILD)/stub -l:libcublas.so.13 -l:libcuda.so.1 \
		-Wl,-rpath-link,$(STUB_BLAS) $(LDFLAGS)
$(SERVE_TEST) $(SERVE_TEST)-12: $(EXTENSIONS) $(BUILD)/tests/serve/copies $(PRELOADS) $(addprefix $(BUILD)/tests/serve/,wrapper-products.so early.so)
$(SERVE_TEST): MAJOR = 13
$(SERVE_TEST)-12: MAJOR = 12
$(SERVE_TEST): | $(SERVE_TEST)-12
$(SERVE_TEST) $(SERVE_TEST)-12: $(addprefix tests/serve/,calls.c calls_served.c calls_left.c calls_program.c calls_around.c calls_check.c calls_devices.c product.c) \
		tests/serve/calls.h tests/faults/stub_launched.h $(STUBS_BLAS) $(BUILD)/stub/libcuda.so.1 $(BUILD)/stub/libnvrtc.so.13 \
		$(BUILD)/libgemmtune_cublas.so
	$(SAY)
	$(Q)$(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) -DSTUB_MAJOR=$(MAJOR) -Itests/serve $(filter %.c,$^) -o $@ \
		-L$(STUB_BLAS) -L$(BUILD)/stub -l:libcublas.so.$(MAJOR) -l:libcublasLt.so.$(MAJOR) -l:libcuda.so.1 \
		-Wl,-rpath-link,$(BUILD)/stub $(LDFLAGS) -lm -lpthread
