# tests.mk: the tests of the CPU engine that need nothing of this machine but a C library, for any platform:
#   make PLATFORM=wasm test-engine            all of them
#   make PLATFORM=wasm test-engine PART=ci    those of CI
# scripts/suites.lua lists them, as the runs `engine` and `part`. Lua of this machine runs the scripts that start
# programs. What a platform cannot run is skipped, with the reason that skips.lua has.

# Programs that this machine cannot start have a script that does.
STARTED = $(BUILD)$(if $(PLATFORM_RUNNER),/run)
$(BUILD)/run/%: $(BUILD)/%
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec %s "%s" "$$@"\n' '$(PLATFORM_RUNNER)' '$(abspath $<)' > $@ && chmod +x $@

ENGINE_RUN = $(if $(PART),part,engine)
ENGINE_ENV = PLATFORM=$(or $(PLATFORM),none) TIME_LIMIT=$(or $(PLATFORM_TIME_LIMIT),900) PROGRAM=$(STARTED)/cuttle \
	STATES=$(STARTED)/tests/support/states TESTS=$(STARTED) LAW_CHECKS=$(if $(PART),20000,200000) \
	$(if $(PLATFORM_RUNNER),EMULATED=1)
ENGINE_C := $(if $(filter test-engine,$(MAKECMDGOALS)),\
	$(filter tests/c/%.c,$(shell $(ENGINE_ENV) $(SUITES) list $(ENGINE_RUN))))

test-engine: SUITES_ENV += $(ENGINE_ENV)
test-engine: $(addprefix $(STARTED)/,cuttle tests/support/states tests/laws/laws $(ENGINE_C:%.c=%))
	@$(call run_suites,$(ENGINE_RUN))
