# Data structures: the steps of data_*.cpp as a program of their own, over the same harness.
file(GLOB data_steps CONFIGURE_DEPENDS data_*.cpp)
add_executable(structures ${data_steps} table_place.cpp)
target_link_libraries(structures PRIVATE onesea_proof)

# data_case(NAME options STATUS launcher options...): a job of the structures; STATUS is the launcher's.
function(data_case name options status)
    add_test(NAME structures.${name}
             COMMAND structures ${options} --limit 200 --via $<TARGET_FILE:onesea_cli> run ${ARGN})
    set_tests_properties(structures.${name} PROPERTIES TIMEOUT 300 PROCESSORS 2 LABELS "conformance;structures"
        ENVIRONMENT "ONESEA_LOG=warn;PROOF_STATUS=${status}" SKIP_RETURN_CODE 77)
endfunction()

add_test(NAME structures.one COMMAND structures)
set_tests_properties(structures.one PROPERTIES TIMEOUT 300 LABELS "conformance;structures")
if(TARGET onesea_cli)
    data_case(shm_4 "" 0 -n 4)
    data_case(net_2 "" 0 -n 2 --nodes 2)
    data_case(mixed_4 "" 0 -n 4 --nodes 2)
    data_case(forced_net_3 "" 0 -n 3 --transport net)
    data_case(lossy_4 "" 0 -n 4 --nodes 2)
    data_case(frames_2 "" 0 -n 2 --nodes 2 --profile ${CMAKE_CURRENT_SOURCE_DIR}/profiles/frames.json)
    foreach(nodes 1 2)
        data_case(death_8_on_${nodes}_nodes "--only;310;--death" 137 -n 8 --nodes ${nodes} --on-death continue)
        data_case(death_at_queue_${nodes}_nodes "--only;320;--death" 137 -n 4 --nodes ${nodes} --on-death continue)
    endforeach()
    set_tests_properties(structures.lossy_4 PROPERTIES
        ENVIRONMENT "ONESEA_LOG=warn;PROOF_STATUS=0;ONESEA_NET_FAULTS=loss=0.05,dup=0.02,reorder=0.05,seed=4")
    data_case(list_owner_stopped "--only;197" 0 -n 2 --nodes 2)
    data_case(list_calls_given_up "--only;198" 0 -n 3 --nodes 3)
    data_case(queue_owner_stopped "--only;260" 0 -n 4 --nodes 4)
    foreach(nodes 1 3)
        data_case(table_full_${nodes} "--only;590" 0 -n 3 --nodes ${nodes} --heap 32M)
        data_case(table_rank_killed_${nodes} "--only;595" 137 -n 4 --nodes ${nodes} --on-death continue)
    endforeach()
endif()
