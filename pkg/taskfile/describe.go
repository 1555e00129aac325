package taskfile

import "k8s-cli/pkg/task"

// A FieldInfo describes one known field of a task for documentation and schemas.
type FieldInfo struct {
	Path     string // of the field in a task, for example resources.cpus
	Severity Severity
	Text     string // effect of an honoured field, or the message to the user
	Forms    string // allowed forms, if the name of the field does not show them
}

// Fields returns all known fields of a task, from the tables that read tasks.
func Fields() (all []FieldInfo) {
	severities := map[severity]Severity{isHonoured: Honoured, isIgnored: Warning, isRefused: Refused}
	for _, t := range allTables() {
		for name, f := range t.fields {
			all = append(all, FieldInfo{t.path + name, severities[f.severity], f.text, f.forms})
		}
	}
	return all
}

// allTables returns the tables of a task and of the mappings inside.
func allTables() []table {
	return append(taskTables(),
		table{"config.kubernetes.custom_metadata.", customMetadataFields(new(task.CustomMetadata))},
		table{"config.kubernetes.kueue.", kueueFields(new(task.Kueue))})
}
