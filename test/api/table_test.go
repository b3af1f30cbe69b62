package api

import "slices"

// rules and immutable have a row for every rule of every field of every kind; TestEveryRuleHasARow sees to that.
var rules = slices.Concat(clusterRules, providerRules, targetRules, watchRules, triggerRules, protocolRules)

var clusterRules = []row{
	{"KubeProvider", "spec.inCluster", "inCluster must be true", true, false, "inCluster must be true"},
	{"KubeProvider", "spec.accessFrom.namespaceSelectors", "maxItems", same(64, map[string]any{}), same(65, map[string]any{}), "must have at most 64 items"},
	{"KubeProvider", "spec.accessFrom.namespaceSelectors[].matchLabels", "maxProperties", labels(16), labels(17), "must have at most 16 items"},
	{"KubeProvider", "spec.accessFrom.namespaceSelectors[].matchLabels", aLabel, map[string]any{letters(317): "v"}, map[string]any{letters(318): "v"}, aLabel},
	{"KubeProvider", "spec.accessFrom.namespaceSelectors[].matchLabels", aLabel, map[string]any{"k": letters(63)}, map[string]any{"k": letters(64)}, aLabel},
}

var providerRules = slices.Concat([]row{
	{"GitProvider", "spec.url", aURL, "https://git.example.org/a", "https://user:word@git.example.org/a", aURL},
	{"GitProvider", "spec.url", aURL, "http://git.example.org:3000/a.git", "https://git.example.org/a?b=c", aURL},
	{"GitProvider", "spec.url", aURL, "http://127.0.0.1:3000/a/b/c", "ssh://git@git.example.org/a", aURL},
	{"GitProvider", "spec.url", aURL, "https://git.example.org/", "https://git.example.org", aURL},
	{"GitProvider", "spec.url", "maxLength", "https://g/" + letters(2038), "https://g/" + letters(2039), tooLong + "2048"},
	{"GitProvider", "spec.allowedBranches", "minItems", list(1, "b%d"), []any{}, "should have at least 1 items"},
	{"GitProvider", "spec.allowedBranches", "maxItems", list(64, "b%d"), list(65, "b%d"), "must have at most 64 items"},
	{"GitProvider", "spec.allowedBranches", "set", list(2, "b%d"), []any{"main", "main"}, duplicate},
	{"GitProvider", "spec.commit.committer.name", "pattern", "Ada Lovelace", "Ada <ada@example.org>", `should match '^[^<>\n\r\x00]+$'`},
	{"GitProvider", "spec.commit.committer.name", "pattern", "Ada", "Ada\nauthor Bob", `should match '^[^<>\n\r\x00]+$'`},
	{"GitProvider", "spec.commit.committer.email", "pattern", "a@b", "nobody", `should match '^[^<>\s\x00]+@[^<>\s\x00]+$'`},
	{"GitProvider", "spec.commit.committer.email", "minLength", "a@b", "a@", "should be at least 3 chars long"},
	{"GitProvider", "spec.commit.committer.email", "maxLength", "a@" + letters(252), "a@" + letters(253), tooLong + "254"},
},
	named("GitProvider", "spec.secretRef.name", 253),
	named("GitProvider", "spec.allowedBranches[]", 255),
	named("GitProvider", "spec.commit.committer.name", 128),
)

var targetRules = slices.Concat([]row{
	{"GitTarget", "spec.branch", aBranch, "release/1.2", "-x", aBranch},
	{"GitTarget", "spec.branch", aBranch, "feat/a_b-c", "a..b", aBranch},
	{"GitTarget", "spec.branch", aBranch, "v1", "refs//heads", aBranch},
	{"GitTarget", "spec.branch", aBranch, "a.b/c", "a/.b", aBranch},
	{"GitTarget", "spec.branch", aBranch, "a", "a/", aBranch},
	{"GitTarget", "spec.branch", aBranch, "a.b", "a.", aBranch},
	{"GitTarget", "spec.branch", aBranch, "lock", "a.lock", aBranch},
	{"GitTarget", "spec.branch", aBranch, "a.locks/b", "a.lock/b", aBranch},
	{"GitTarget", "spec.branch", aBranch, "a", "a b", aBranch},
	{"GitTarget", "spec.path", aPath, ".", "./apps", aPath},
	{"GitTarget", "spec.path", aPath, "apps/team-a", "/etc", aPath},
	{"GitTarget", "spec.path", aPath, "..apps", "../other", aPath},
	{"GitTarget", "spec.path", aPath, "a/b..c", "apps/../../x", aPath},
	{"GitTarget", "spec.path", aPath, ".github", "apps/.GIT/hooks", aPath},
	{"GitTarget", "spec.path", aPath, "apps", "apps/", aPath},
	{"GitTarget", "spec.path", aPath, "a/b", "a//b", aPath},
	{"GitTarget", "spec.commit.idleTimeout", between("idleTimeout"), "0s", "-1s", between("idleTimeout")},
	{"GitTarget", "spec.commit.idleTimeout", between("idleTimeout"), "1h", "61m", between("idleTimeout")},
	{"GitTarget", "spec.commit.idleTimeout", between("idleTimeout"), "0.5s", "5", between("idleTimeout")},
	{"GitTarget", "spec.commit.maxDuration", between("maxDuration"), "0s", "-1s", between("maxDuration")},
	{"GitTarget", "spec.commit.maxDuration", between("maxDuration"), "1h", "61m", between("maxDuration")},
	{"GitTarget", "spec.applyTriggerRef.kind", "enum", "FluxTrigger", "Kustomization", `supported values: "FluxTrigger"`},
},
	named("GitTarget", "spec.gitProviderRef.name", 253),
	named("GitTarget", "spec.kubeProviderRef.name", 253),
	named("GitTarget", "spec.branch", 255),
	named("GitTarget", "spec.path", 1024),
	named("GitTarget", "spec.applyTriggerRef.name", 253),
)

var (
	apps  = []any{"apps"}
	cores = []any{""}
	pods  = []any{"pods"}
)

var watchRules = slices.Concat([]row{
	{"WatchRule", "spec.rules", "minItems", []any{rule(apps, pods)}, []any{}, "should have at least 1 items"},
	{"WatchRule", "spec.rules", "maxItems", slices.Repeat([]any{rule(apps, pods)}, 32), slices.Repeat([]any{rule(apps, pods)}, 33), "must have at most 32 items"},
	{"WatchRule", "spec.rules[]", noSecrets, rule([]any{"example.org"}, []any{"secrets"}), rule([]any{"apps", ""}, []any{"pods", "secrets"}), noSecrets},
	{"WatchRule", "spec.rules[].apiGroups", "minItems", cores, []any{}, "should have at least 1 items"},
	{"WatchRule", "spec.rules[].apiGroups", "maxItems", list(16, "g%d"), list(17, "g%d"), "must have at most 16 items"},
	{"WatchRule", "spec.rules[].apiGroups", "set", list(2, "g%d"), []any{"apps", "apps"}, duplicate},
	{"WatchRule", "spec.rules[].apiGroups[]", "maxLength", letters(253), letters(254), tooLong + "253"},
	{"WatchRule", "spec.rules[].resources", "minItems", pods, []any{}, "should have at least 1 items"},
	{"WatchRule", "spec.rules[].resources", "maxItems", list(32, "r%d"), list(33, "r%d"), "must have at most 32 items"},
	{"WatchRule", "spec.rules[].resources", "set", list(2, "r%d"), []any{"pods", "pods"}, duplicate},
	{"WatchRule", "spec.rules[].resources[]", "maxLength", letters(253), letters(254), tooLong + "253"},
	{"WatchRule", "spec.rules[].resources[]", "pattern", "deployments", "Deployment", "should match '^[a-z][a-z0-9-]*$'"},
	{"WatchRule", "spec.rules[].resources[]", "pattern", "deployments", "deployments/scale", "should match '^[a-z][a-z0-9-]*$'"},
	{"WatchRule", "spec.rules[].resources[]", "pattern", "deployments", "*", "should match '^[a-z][a-z0-9-]*$'"},
},
	named("WatchRule", "spec.gitTargetRef.name", 253),
)

var triggerRules = slices.Concat([]row{
	{"FluxTrigger", "spec.quietPeriod", between("quietPeriod"), "0s", "-1s", between("quietPeriod")},
	{"FluxTrigger", "spec.quietPeriod", between("quietPeriod"), "1h", "61m", between("quietPeriod")},
	{"FluxTrigger", "spec.quietPeriod", between("quietPeriod"), "1m30s", "soon", between("quietPeriod")},
	{"FluxTrigger", "spec.onDelete", "enum", "Orphan", "Delete", unknown},
	{"FluxTrigger", "spec.selfManaged", "enum", "Allow", "true", unknown},
},
	named("FluxTrigger", "spec.kubeProviderRef.name", 253),
	located("FluxTrigger", "spec.kustomizationRef"),
)

// protocolRules are those of the status two programs talk through: a mistake of either is refused and not believed.
var protocolRules = slices.Concat([]row{
	{"FluxTrigger", "status.request.id", "minLength", "r", "", tooShort},
	{"FluxTrigger", "status.request.id", "maxLength", letters(64), letters(65), tooLong + "64"},
	{"FluxTrigger", "status.request.reason", "enum", "ForeignCommit", "Because", unknown},
	{"FluxTrigger", "status.request.commit", "pattern", letters(40), letters(39), aHash},
	{"FluxTrigger", "status.request.commit", "pattern", letters(64), letters(65), aHash},
	{"FluxTrigger", "status.request.commit", "pattern", "0123456789abcdef" + letters(24), "main", aHash},
	{"FluxTrigger", "status.request.commit", "pattern", letters(40), "", aHash},
	{"FluxTrigger", "status.request.revision", "maxLength", letters(512), letters(513), tooLong + "512"},
	{"FluxTrigger", "status.source.url", "maxLength", letters(2048), letters(2049), tooLong + "2048"},
	{"FluxTrigger", "status.source.branch", "maxLength", letters(255), letters(256), tooLong + "255"},
	{"FluxTrigger", "status.operation.phase", "enum", "Requested", "Resumed", unknown},
	{"FluxTrigger", "status.operation.origin", "enum", "External", "Nobody", unknown},
	{"FluxTrigger", "status.operation.by", "maxLength", letters(256), letters(257), tooLong + "256"},
	{"FluxTrigger", "status.operation.reason", "enum", "Publish", "Because", unknown},
	{"FluxTrigger", "status.operation.message", "maxLength", letters(1024), letters(1025), tooLong + "1024"},
	{"FluxTrigger", "status.operation.result", "maxLength", letters(64), letters(65), tooLong + "64"},
	{"FluxTrigger", "status.lastHandledRequest.outcome", "enum", "RequestFailed", "Perhaps", unknown},
	{"FluxTrigger", "status.lastHandledRequest.message", "maxLength", letters(1024), letters(1025), tooLong + "1024"},
	{"FluxTrigger", "status.lastHandledManual.outcome", "enum", "Current", "Perhaps", unknown},
	{"FluxTrigger", "status.lastHandledManual.message", "maxLength", letters(1024), letters(1025), tooLong + "1024"},
	{"FluxTrigger", "status.holder", "maxLength", letters(512), letters(513), tooLong + "512"},
	{"FluxTrigger", "status.history[].origin", "enum", "Deletion", "Nobody", unknown},
	{"FluxTrigger", "status.history[].by", "maxLength", letters(256), letters(257), tooLong + "256"},
	{"FluxTrigger", "status.history[].phase", "enum", "Succeeded", "Resumed", unknown},
	{"FluxTrigger", "status.history[].reason", "enum", "CatchUp", "Because", unknown},
	{"FluxTrigger", "status.history[].message", "maxLength", letters(1024), letters(1025), tooLong + "1024"},
	{"FluxTrigger", "status.history[].result", "maxLength", letters(64), letters(65), tooLong + "64"},
	{"FluxTrigger", "status.history", "maxItems", operations(20), operations(21), "must have at most 20 items"},
},
	located("FluxTrigger", "status.source.gitRepository"),
)

// operations returns n operations of a history.
func operations(n int) []any {
	return slices.Repeat([]any{map[string]any{
		"requestID": "r1", "origin": "Request", "phase": "Succeeded", "reason": "Publish", "commit": "c", "token": "t", "applierUID": "k",
		"before": map[string]any{}, "requestedAt": "2030-01-02T03:04:05Z",
	}}, n)
}

var immutable = []frozen{
	{"GitTarget", "spec.gitProviderRef.name", sameTarget, "other"},
	{"GitTarget", "spec.branch", sameTarget, "other"},
	{"GitTarget", "spec.path", sameTarget, "other"},
	{"GitTarget", "spec.path", sameTarget, nil},
	{"GitTarget", "spec.kubeProviderRef.name", sameCluster, "other"},
	{"FluxTrigger", "spec.kustomizationRef.name", sameApplier, "other"},
	{"FluxTrigger", "spec.kustomizationRef.namespace", sameApplier, "other"},
	{"FluxTrigger", "spec.kubeProviderRef.name", sameApplier, "other"},
}
