# Adds gmii_elastic.xdc to a project of Vivado, scoped to the instances of gmii_elastic. Late, because the top level's file creates the clocks.
set wirelab_xdc [file join [file dirname [file normalize [info script]]] gmii_elastic.xdc]
add_files -norecurse -fileset constrs_1 $wirelab_xdc
set_property SCOPED_TO_REF gmii_elastic [get_files $wirelab_xdc]
set_property PROCESSING_ORDER LATE [get_files $wirelab_xdc]
