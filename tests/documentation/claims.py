"""Which tests prove what docs/security.md says: for each claim of the page, by its id, their node ids.

A new statement there takes a comment with an id (`<!-- claim: ID -->`), and a line here.
"""

from __future__ import annotations

from collections.abc import Mapping

_CLI, _ENGINE, _SERVICE = "tests/sandbox/cli", "tests/sandbox/engine", "tests/sandbox/service"
_KEYS = f"{_SERVICE}/test_private_keys.py"
_STOCK = "tests/sandbox/artifacts/test_stock.py"
_SIGNED = f"{_SERVICE}/test_following_signed.py"
_PINS = f"{_CLI}/test_join_pins.py"
_HTTP = f"{_CLI}/test_plain_http.py"
_PATHS = "tests/documentation/test_paths.py"

CLAIMS: Mapping[str, tuple[str, ...]] = {
    # What runs as whom
    "kubelet-account": (
        "tests/windows/test_bootstrap.py::test_the_service_starts_with_windows_after_containerd",
    ),
    "resident-account": (
        "tests/windows/test_exe_service.py::test_installed_it_starts_with_windows_from_a_quoted_path",
    ),
    "resume-input": (
        f"{_CLI}/test_settings.py::test_what_users_could_exchange_until_the_restart_is_not_read_again_as_system",
    ),
    "self-update-files": (f"{_PATHS}::test_by_another_program_that_takes_its_place",),
    "administrator": (
        f"{_CLI}/test_node_commands.py::test_changing_a_machine_takes_an_administrator",
        f"{_CLI}/test_node_commands.py::test_a_plain_user_is_told_that_he_may_not_look",
        "tests/windows/test_bootstrap.py::test_a_plain_user_is_refused_whatever_it_is",
    ),
    "loopback-only": (f"{_SERVICE}/test_metrics.py::test_it_is_to_be_reached_from_this_machine_alone",),
    "kubelet-authenticates": (
        f"{_CLI}/test_prepare.py::test_a_bare_machine_is_prepared_and_again_nothing_changes",
        f"{_CLI}/test_audit.py::test_a_node_made_here_has_no_failure",
        "tests/cluster/test_audit.py::test_a_kubelet_that_lets_anybody_in_is_found_and_put_right",
    ),
    # Every path, and who may do what
    "paths": (
        f"{_PATHS}::test_all_that_is_on_nodes_is_as_the_table_says",
        f"{_PATHS}::test_by_user_data",
        f"{_PATHS}::test_of_an_ignition",
    ),
    "born-protected": (
        "tests/contract/test_files.py::test_a_file_has_its_descriptor_before_its_content",
        "tests/contract/test_access.py::test_a_new_folder_has_its_descriptor",
        "tests/windows/test_bootstrap.py::test_every_file_is_born_with_its_protection",
    ),
    "folders-above": (
        f"{_ENGINE}/test_shared_folders.py::test_one_that_users_could_change_is_closed_and_given_back",
        "tests/windows/test_bootstrap.py::test_a_folder_that_users_could_change_is_closed_until_a_reset",
    ),
    "planted-memory": (
        f"{_ENGINE}/test_run.py::test_a_memory_that_users_could_have_planted_is_not_believed",
        f"{_CLI}/test_node_commands.py::test_a_folder_that_anybody_could_have_filled_is_not_believed",
    ),
    "audit": (
        f"{_CLI}/test_audit.py::test_a_node_made_here_has_no_failure",
        f"{_CLI}/test_audit.py::test_a_node_made_by_hand",
    ),
    # Secrets
    "bootstrap-token": (
        f"{_CLI}/test_join.py::test_what_it_leaves",
        f"{_CLI}/test_join.py::test_no_secret_is_told",
        f"{_SERVICE}/test_keeping.py::test_a_credential_for_one_use_is_kept_nowhere",
        "tests/cluster/test_join.py::test_by_options",
    ),
    "bootstrap-kubeconfig": (
        f"{_CLI}/test_node_commands.py::test_secrets_are_where_the_node_needs_them",
        f"{_PATHS}::test_of_an_ignition",
    ),
    "client-keys": (
        f"{_KEYS}::test_the_kubelets_own_pair_is_loaded_from_where_it_lies",
        f"{_KEYS}::test_a_key_inside_a_kubeconfig_is_loaded_from_a_private_file_that_goes_again",
        f"{_KEYS}::test_a_sweep_removes_old_keys_by_handle_and_nothing_that_links_lead_to",
        f"{_KEYS}::test_a_process_that_is_not_elevated_uses_the_users_own_temporary_folder",
    ),
    "state-folder-aside": (
        "tests/contract/test_files.py::test_a_folder_of_another_owner_is_set_aside_with_what_is_in_it",
        "tests/contract/test_files.py::test_what_is_held_open_is_not_set_aside",
        f"{_CLI}/test_node_commands.py::test_a_folder_that_a_user_made_before_is_moved_aside_and_reported_once",
        "tests/windows/test_user_data.py::test_a_folder_that_a_plain_user_made_before_is_moved_aside",
    ),
    "sealed-passwords": (
        f"{_ENGINE}/test_proxy.py::test_no_file_of_ours_tells_the_password_whenever_it_is_killed",
        f"{_CLI}/test_artifacts.py::test_a_servers_password_is_in_no_file_of_ours_and_still_known",
        "tests/contract/test_access.py::test_a_secret_is_sealed_and_opened_again",
    ),
    "service-variables": (
        "tests/unit/host/windows/test_dll_service_control.py::test_variables_are_in_a_key_that_users_cannot_read",
        "tests/unit/host/windows/test_dll_service_control.py::test_the_key_is_closed_before_the_variables_are_written",
    ),
    "memory-private": (
        f"{_ENGINE}/test_run.py::test_no_secret_is_open_to_users",
        "tests/windows/test_bootstrap.py::test_reset_leaves_nothing",
    ),
    "mirror-secret": (
        f"{_CLI}/test_artifacts.py::test_a_mirrors_secret_is_in_a_private_file_and_in_no_command_line_that_all_may_read",
        f"{_CLI}/test_artifacts.py::test_a_mirrors_secret_goes_with_the_service",
    ),
    "output": (
        "tests/unit/test_writers.py::test_who_writes_is_named",
        f"{_SERVICE}/test_secrets_followed.py::test_no_writer_writes_a_registered_secret",
        f"{_CLI}/test_node_commands.py::test_no_secret_is_told_or_written_down",
        f"{_CLI}/test_join.py::test_no_secret_is_told",
        f"{_CLI}/test_user_data.py::test_no_secret_is_told",
        f"{_CLI}/test_shown_plan.py::test_no_secret_of_a_command_line_is_shown",
        f"{_ENGINE}/test_trouble.py::test_a_password_in_a_variable_is_never_shown",
    ),
    "output-by-value": (
        "tests/unit/test_redaction.py::test_a_registered_secret_is_found_however_it_is_written",
        f"{_CLI}/test_planted_secrets.py::test_no_report_has_one",
        f"{_CLI}/test_planted_secrets.py::test_no_run_shows_one",
        f"{_CLI}/test_planted_secrets.py::test_no_bootstrap_for_the_operator_shows_one",
        f"{_CLI}/test_planted_secrets.py::test_no_option_shows_one",
        f"{_CLI}/test_secrets.py::test_a_run_that_is_cut_off",
        f"{_CLI}/test_secrets.py::test_a_server_that_repeats_the_token",
    ),
    "output-by-look": ("tests/unit/test_redaction.py::test_what_was_never_parsed_is_known_by_its_look",),
    "support-bundle": (f"{_CLI}/test_support_bundle.py::test_no_secret_is_in_it_and_what_helps_is",),
    # What wmcb trusts
    "pinned-authorities": (
        f"{_PINS}::test_a_server_of_an_unpinned_authority_is_refused",
        f"{_PINS}::test_what_the_node_trusts_is_pinned",
        f"{_PINS}::test_each_pinned_authority_is_trusted",
        "tests/unit/kube/test_token_discovery.py::test_what_is_final_at_once",
    ),
    "unpinned": (
        f"{_PINS}::test_without_a_pin_all_of_cluster_info_is_trusted_and_said",
        "tests/cluster/test_join_discovery.py::test_a_token_alone",
    ),
    "discovery-kubeconfig": (
        "tests/unit/kube/test_kubeconfig_discovery.py::test_an_authority_out_of_cluster_info",
        "tests/unit/kube/test_kubeconfig_discovery.py::test_whoever_answers_is_believed",
        "tests/unit/kube/test_kubeconfig_discovery.py::test_a_stranger",
    ),
    "discovery-url": (
        "tests/unit/kube/test_kubeconfig_discovery.py::test_whom_the_system_does_not_trust",
        "tests/unit/sources/kubeadm/test_reading.py::test_what_is_wrong_is_told_with_its_place",
        "tests/cluster/test_join_discovery.py::test_a_web_server_that_windows_trusts",
    ),
    "joined-node": (
        f"{_CLI}/test_join_again.py::test_the_same_by_its_hash",
        f"{_CLI}/test_join_again.py::test_another_one",
    ),
    "references-https": (
        f"{_HTTP}::test_https_needs_no_permission",
        f"{_HTTP}::test_https_that_redirects_to_http_is_refused",
        f"{_CLI}/test_bad_input.py::test_a_server_that_another_authority_vouches_for",
    ),
    "plain-http": (
        f"{_HTTP}::test_it_is_refused_before_the_server_is_asked",
        f"{_HTTP}::test_a_digest_proves_it",
        f"{_HTTP}::test_it_is_fetched_where_that_is_allowed",
    ),
    "signed": (
        f"{_SIGNED}::test_what_is_signed_is_followed_and_nothing_else",
        "tests/unit/sources/signatures/test_minisign.py::test_a_signature_that_is_none_here_is_refused",
        "tests/cluster/test_following.py::test_a_signed_one_with_a_service",
    ),
    "bound-signature": (
        f"{_SIGNED}::test_one_for_another_place_is_refused_on_a_node_that_has_seen_none",
        f"{_SIGNED}::test_an_expired_one_is_refused_on_a_node_that_has_seen_none",
        f"{_SIGNED}::test_an_older_one_is_refused_also_after_a_restart",
        f"{_SIGNED}::test_during_a_rotation_one_authority_has_to_fit",
        "tests/judges/test_minisign.py::test_the_documented_commands_sign_what_counts",
        "tests/judges/test_minisign.py::test_what_they_sign_counts_nowhere_else",
    ),
    "expired-signature": (
        f"{_SIGNED}::test_one_that_expires_later_leaves_the_node_as_it_is",
        f"{_SIGNED}::test_a_turn_that_comes_after_the_expiry_is_none",
    ),
    "download-digest": (f"{_STOCK}::test_another_content_is_refused_and_nothing_of_it_stays",),
    "download-signer": (
        f"{_STOCK}::test_a_wrong_signer_is_refused",
        f"{_STOCK}::test_a_right_digest_is_not_enough_where_a_signer_is_wanted",
        f"{_STOCK}::test_every_program_of_an_archive_has_to_be_signed",
        "tests/windows/test_artifacts.py::test_what_cannot_be_trusted_is_told_a_line_each_and_changes_nothing",
    ),
    "download-checksums": (
        f"{_STOCK}::test_checksums_are_asked_for_over_tls",
        f"{_STOCK}::test_checksums_that_a_mirror_has_over_http_are_refused",
        f"{_CLI}/test_artifacts.py::test_checksums_from_beside_it_are_said_to_be_weaker",
    ),
    "self-update": (
        f"{_SERVICE}/test_succeeding.py::test_one_that_somebody_else_has_signed_is_refused",
        f"{_SERVICE}/test_succeeding.py::test_one_that_does_not_say_what_it_is_is_refused_before_anything_is_stopped",
        "tests/cluster/test_succeeding.py::test_it_is_kept_taken_back_and_finished_after_a_power_cut",
    ),
    "mirror": (
        f"{_STOCK}::test_a_mirror_serves_in_its_place",
        f"{_STOCK}::test_another_content_is_refused_and_nothing_of_it_stays",
        f"{_CLI}/test_artifacts.py::test_a_mirror_and_a_folder_serve_in_its_place",
    ),
    "generated-code": (
        "tests/unit/host/windows/test_dll_com.py::test_code_planted_below_temp_is_not_loaded_and_none_is_written_there",
    ),
    "libraries": (
        "tests/windows/test_exe.py::test_no_library_is_loaded_from_where_others_can_write",
        "tests/windows/test_exe.py::test_libraries_asked_for_by_name_alone_come_from_system32",
    ),
    "extracted-folder": (
        "tests/unit/test_installation.py::test_folders_in_the_folder_of_what_it_loads_are_laid_out_and_taken_away",
        f"{_CLI}/test_running_program.py::test_a_program_in_a_folder_of_users_is_refused_before_anything_changes",
        f"{_CLI}/test_running_program.py::test_an_extracted_program_is_laid_out_once_none_but_administrators_may_change_it",
        "tests/windows/test_exe_service.py::test_extracted_where_users_may_write_it_is_not_installed",
    ),
    # How to check a wmcb that was downloaded
    "release": (
        "tests/unit/release/test_workflows.py::test_a_release_is_looked_at_signed_and_tried_before_it_is_published",
        "tests/windows/test_signing.py::test_a_signed_release_is_vouched_for_and_installs_itself_as_it_is",
    ),
    "reproducible": (
        "tests/unit/exe/test_sections.py::test_the_same_folder_gives_the_same_bytes_in_whatever_order",
        "tests/windows/test_exe.py::test_version",
    ),
    "bill-of-materials": (
        "tests/windows/test_exe.py::test_the_bill_of_materials_names_all_that_is_laid_out",
        "tests/windows/test_exe.py::test_it_prints_the_licence_of_each_file_that_it_carries",
    ),
    # What an attacker can do
    "signed-against-cluster": (
        f"{_SIGNED}::test_one_for_another_place_is_refused_on_a_node_that_has_seen_none",
        f"{_SIGNED}::test_an_expired_one_is_refused_on_a_node_that_has_seen_none",
        f"{_SIGNED}::test_an_older_one_is_refused_also_after_a_restart",
        f"{_SERVICE}/test_following.py::test_after_a_restart_of_the_service_without_a_cluster_all_is_kept",
    ),
    "token-holder": (f"{_PINS}::test_a_server_of_an_unpinned_authority_is_refused",),
    "signed-against-writer": (
        f"{_SIGNED}::test_what_is_signed_is_followed_and_nothing_else",
        f"{_SIGNED}::test_an_older_one_is_refused_also_after_a_restart",
        f"{_SERVICE}/test_following.py::test_one_that_is_deleted_leaves_all_and_is_told_once",
    ),
    "manifests": (
        "tests/cluster/test_manifests.py::test_a_node_lacks_no_more_than_the_manifests_give",
        "tests/cluster/test_manifests.py::"
        "test_kube_proxy_and_flannel_may_do_what_they_need_as_their_node_and_nothing_else",
    ),
    "plain-account": (
        f"{_PATHS}::test_all_that_is_on_nodes_is_as_the_table_says",
        f"{_ENGINE}/test_run.py::test_users_may_do_no_more_than_they_are_to",
        "tests/windows/test_files.py::test_windows_grants_by_our_descriptors",
        "tests/windows/test_exe_service.py::test_users_may_run_it_and_never_write_from_the_first_moment",
    ),
    "pods-volumes": (
        "tests/contract/test_access.py::test_what_the_kubelet_makes_for_pods_can_be_read_and_added_to",
    ),
    "drive-root": (f"{_CLI}/test_preflight.py::test_a_drive_of_which_users_can_take_folders_away",),
    "network": (
        f"{_PINS}::test_a_server_of_an_unpinned_authority_is_refused",
        f"{_HTTP}::test_it_is_refused_before_the_server_is_asked",
        f"{_STOCK}::test_another_content_is_refused_and_nothing_of_it_stays",
        "tests/cluster/test_join_trouble.py::test_another_authority_answers_at_the_address",
    ),
    "network-cut": (
        f"{_SERVICE}/test_following.py::"
        "test_a_cluster_that_cannot_be_reached_is_told_once_and_the_node_is_kept",
        "tests/cluster/test_node.py::test_the_network_is_gone_for_a_while",
    ),
    "download-limits": (
        f"{_CLI}/test_sizes.py::test_what_is_larger_than_is_said_is_refused_and_leaves_nothing",
        f"{_CLI}/test_sizes.py::test_downloads_that_come_together_share_what_is_free",
        f"{_CLI}/test_sizes.py::test_a_compressed_file_that_becomes_too_large_is_one_line",
    ),
    "download-server": (
        f"{_STOCK}::test_another_content_is_refused_and_nothing_of_it_stays",
        f"{_CLI}/test_artifacts.py::test_checksums_from_beside_it_are_said_to_be_weaker",
    ),
}
