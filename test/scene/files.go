package scene

import "fmt"

// Web is a repository with one web application in the folder apps: a Deployment and a ConfigMap, with the comments a
// team leaves in its files.
func Web(namespace string) map[string]string {
	return map[string]string{
		"README.md": "The manifests of " + namespace + ".\n",
		"apps/web.yaml": fmt.Sprintf(`# The shop's front end. Ask in #%[1]s before you scale it.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: %[1]s
spec:
  replicas: 1 # enough for the night
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: web
          image: registry.example/web:1.0
          env:
            - name: GREETING
              value: "hello"
`, namespace),
		"apps/settings.yaml": Settings(namespace, "info"),
	}
}

// Settings is the ConfigMap of Web with another log level.
func Settings(namespace, level string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: %s
data:
  level: %s
`, namespace, level)
}

// ConfigMaps is n ConfigMaps in the folder apps, each in a file of its own, whose value is rev.
func ConfigMaps(namespace string, n int, rev string) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("apps/cm-%03d.yaml", i)] = fmt.Sprintf(
			"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm-%03d\n  namespace: %s\ndata:\n  rev: %q\n", i, namespace, rev)
	}
	return files
}
