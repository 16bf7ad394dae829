# Debian's packages, by CPack.
set(CPACK_PACKAGE_NAME culprit)
set(CPACK_PACKAGE_VENDOR "Culprit")
set(CPACK_PACKAGE_CONTACT "Culprit maintainers <maintainers@culprit.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "profiler that finds the code which makes MPI programs wait")
set(CPACK_PACKAGE_DESCRIPTION
    "Samples MPI programs as they are (optimized, stripped, threaded), finds
the time that ranks spend waiting for each other, and shifts the blame
from where they wait to the code that makes them wait. Nothing has to be
recompiled, and nothing needs root.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

# One package, and one for each MPI that prof-mpi can run under.
set(CPACK_COMPONENTS_ALL Unspecified)
foreach(mpi openmpi mpich)
  if(TARGET prof-mpi-${mpi})
    list(APPEND CPACK_COMPONENTS_ALL ${mpi})
  endif()
endforeach()
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME culprit)
set(CPACK_COMPONENT_UNSPECIFIED_DESCRIPTION ${CPACK_PACKAGE_DESCRIPTION})
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_RECOMMENDS python3)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_SUGGESTS "culprit-openmpi, culprit-mpich, python3-pandas")
set(title_openmpi "Open MPI")
set(title_mpich MPICH)
foreach(mpi openmpi mpich)
  string(TOUPPER ${mpi} component)
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME culprit-${mpi})
  set(CPACK_COMPONENT_${component}_DESCRIPTION
      "This package merges measurements on the ranks of an mpirun of
${title_${mpi}}, which those of many processes need.")
  set(CPACK_DEBIAN_${component}_PACKAGE_DEPENDS "culprit (= ${PROJECT_VERSION})")
endforeach()
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian/documents.cmake)

include(CPack)
