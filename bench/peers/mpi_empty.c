/* SPDX-License-Identifier: Apache-2.0 */
/* The empty program of an MPI: what `onesea bench start` starts beside ours. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}
