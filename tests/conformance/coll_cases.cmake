# Teams and collectives: the steps of coll_*.cpp as a program of their own, over the same harness.
file(GLOB coll_steps CONFIGURE_DEPENDS coll_*.cpp)
add_executable(collectives ${coll_steps})
target_link_libraries(collectives PRIVATE onesea_proof)

# coll_case(NAME TIMEOUT STATUS launcher options...): a job of the collectives; STATUS is the launcher's.
function(coll_case name options status)
    add_test(NAME collectives.${name}
             COMMAND collectives ${options} --limit 200 --via $<TARGET_FILE:onesea_cli> run ${ARGN})
    set_tests_properties(collectives.${name} PROPERTIES TIMEOUT 600 PROCESSORS 2 LABELS "conformance;collectives"
        ENVIRONMENT "ONESEA_LOG=warn;PROOF_STATUS=${status}" SKIP_RETURN_CODE 77)
endfunction()

add_test(NAME collectives.one COMMAND collectives)
set_tests_properties(collectives.one PROPERTIES TIMEOUT 300 LABELS "conformance;collectives")
if(TARGET onesea_cli)
    foreach(ranks 2 3 4 5 7 8 16)
        coll_case(shm_${ranks} "" 0 -n ${ranks})
    endforeach()
    coll_case(shm_64 "--light" 0 -n 64 --heap 4M)
    coll_case(net_2 "" 0 -n 2 --nodes 2)
    coll_case(net_4 "" 0 -n 4 --nodes 4)
    coll_case(mixed_4 "" 0 -n 4 --nodes 2)
    coll_case(mixed_7 "" 0 -n 7 --nodes 2)
    coll_case(mixed_16 "" 0 -n 16 --nodes 4)
    coll_case(mixed_64 "--light" 0 -n 64 --nodes 4 --heap 4M)
    set(small --profile ${CMAKE_CURRENT_SOURCE_DIR}/profiles/least.json) # messages in many frames
    coll_case(small_4 "" 0 -n 4 --nodes 2 ${small})
    coll_case(small_lossy_4 "--light" 0 -n 4 --nodes 4 ${small})
    set_property(TEST collectives.small_lossy_4 APPEND PROPERTY
        ENVIRONMENT "ONESEA_NET_FAULTS=loss=0.03,dup=0.01,reorder=0.03,seed=6")
    coll_case(forbidden_3 "--light" 0 -n 3 $<TARGET_FILE:forbid>)
    coll_case(crowd_256 "--only;10" 0 -n 256 --heap 1M)
    coll_case(death_shm_5 "--death" 137 -n 5 --on-death continue)
    coll_case(death_mixed_8 "--death" 137 -n 8 --nodes 2 --on-death continue)
endif()
