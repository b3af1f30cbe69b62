package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// grantAccess makes the namespaces of the controllers and says who may do what.
func (w *World) grantAccess(ctx context.Context) error {
	if err := w.Apply(ctx, accessYAML); err != nil {
		return err
	}
	for user, file := range map[string]string{HolderUser: "holder.yaml", GitmirrorUser: "gitmirror.yaml"} {
		if err := w.grantProduct(ctx, user, file); err != nil {
			return fmt.Errorf("give %s its access: %w", user, err)
		}
	}
	return w.CreateNamespace(ctx, "team-a")
}

// grantProduct gives a program of Holdfast the roles that its chart ships, so that a missing right fails here first.
func (w *World) grantProduct(ctx context.Context, user, file string) error {
	content, err := os.ReadFile(filepath.Join(w.root, "charts", "holdfast", "files", "rbac", file))
	if errors.Is(err, fs.ErrNotExist) {
		return w.bind(ctx, "", "cluster-admin", "ClusterRole", user)
	}
	if err != nil {
		return err
	}
	roles, err := decode(content)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, r := range roles {
		if err := w.apply(ctx, []*unstructured.Unstructured{r}); err != nil {
			return err
		}
		if err := w.bind(ctx, r.GetNamespace(), r.GetName(), r.GetKind(), user); err != nil {
			return err
		}
	}
	return nil
}

// CreateNamespace makes a namespace of a team: alice and bob are admin there, the deployer may edit.
func (w *World) CreateNamespace(ctx context.Context, name string) error {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	if err := w.apply(ctx, []*unstructured.Unstructured{o}); err != nil {
		return err
	}
	for user, role := range map[string]string{Alice: "admin", Bob: "admin", Deployer: "edit"} {
		if err := w.bind(ctx, name, role, "ClusterRole", user); err != nil {
			return err
		}
	}
	return nil
}

// bind gives user a role: in one namespace, or everywhere when namespace is empty. Binding again changes nothing.
func (w *World) bind(ctx context.Context, namespace, role, kind, user string) error {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: strings.NewReplacer(":", ".", "@", ".").Replace(role + "." + user)}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	var binding client.Object = &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	if namespace == "" {
		binding = &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	}
	if err := client.IgnoreAlreadyExists(w.client.Create(ctx, binding)); err != nil {
		return fmt.Errorf("bind %s to %s: %w", role, user, err)
	}
	return nil
}
