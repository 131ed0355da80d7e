{{- define "drumline.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "drumline.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "drumline.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "drumline.selector" -}}
app.kubernetes.io/name: {{ include "drumline.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "drumline.labels" -}}
{{ include "drumline.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: drumline
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "drumline.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "drumline.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The image of a role: the release's, with what a pool says of its own laid over it. */}}
{{- define "drumline.image" -}}
{{- $image := mergeOverwrite (deepCopy .root.Values.image) (default dict .own) -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .root.Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "drumline.apiUrl" -}}
{{- $port := int .Values.api.service.port -}}
{{- printf "http://%s-api.%s.svc%s" (include "drumline.fullname" .) .Release.Namespace (eq $port 80 | ternary "" (printf ":%d" $port)) -}}
{{- end -}}

{{/* Where each secret is read from. */}}
{{- define "drumline.secretVariables" -}}
storeUrl: DRUMLINE_STORE_URL_FILE
queueUrl: DRUMLINE_QUEUE_URL_FILE
busUrl: DRUMLINE_BUS_URL_FILE
busPassword: DRUMLINE_BUS_PASSWORD_FILE
apiKey: DRUMLINE_API_KEY_FILE
secretKey: DRUMLINE_SECRET_KEY_FILE
smtpPassword: DRUMLINE_SMTP_PASSWORD_FILE
{{- end -}}

{{/* The names of the secrets that a role reads, without those that are not used here: a list as JSON. */}}
{{- define "drumline.secretsOf" -}}
{{- $keys := .root.Values.secret.keys -}}
{{- $used := list -}}
{{- range .names -}}
{{- if get $keys . -}}{{- $used = append $used . -}}{{- end -}}
{{- end -}}
{{- toJson $used -}}
{{- end -}}

{{/*
A container of ours without its probes and ports.
Takes root, role (its values), args, env (a list), secrets (names), image (of its own).
*/}}
{{- define "drumline.container" -}}
{{- $root := .root -}}
{{- $secrets := include "drumline.secretsOf" (dict "root" $root "names" .secrets) | fromJsonArray -}}
{{- $variables := include "drumline.secretVariables" $root | fromYaml -}}
image: {{ include "drumline.image" (dict "root" $root "own" .image) | quote }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
args: {{ toJson .args }}
env:
  {{- $sources := list }}
  {{- if $root.Values.config }}{{ $sources = append $sources "/etc/drumline/drumline.yaml" }}{{ end }}
  {{- with $root.Values.parameterPath }}{{ $sources = append $sources (printf "ssm:%s" .) }}{{ end }}
  {{- if and $sources (not .withoutConfig) }}
  - name: DRUMLINE_CONFIG
    value: {{ join "," $sources | quote }}
  {{- end }}
  {{- if not .withoutMonitor }}
  - name: DRUMLINE_MONITOR_PORT
    value: {{ $root.Values.monitor.port | quote }}
  - name: DRUMLINE_MONITOR_HOST
    value: {{ $root.Values.monitor.host | quote }}
  {{- end }}
  {{- range $secrets }}
  - name: {{ get $variables . }}
    value: /run/drumline/{{ get $root.Values.secret.keys . }}
  {{- end }}
  {{- with .env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .role.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .role.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml $root.Values.securityContext | nindent 2 }}
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- if or $secrets .keySecret }}
  - name: secrets
    mountPath: /run/drumline
    readOnly: true
  {{- end }}
  {{- if and $root.Values.config (not .withoutConfig) }}
  - name: config
    mountPath: /etc/drumline
    readOnly: true
  {{- end }}
{{- end -}}

{{/* The volumes of a pod with such containers. */}}
{{- define "drumline.volumes" -}}
{{- $root := .root -}}
{{- $secrets := include "drumline.secretsOf" (dict "root" $root "names" .secrets) | fromJsonArray -}}
- name: tmp
  emptyDir:
    sizeLimit: {{ default "64Mi" .role.tmpSize }}
{{- if or $secrets .keySecret }}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- if $secrets }}
      - secret:
          name: {{ required "secret.existingSecret must name a secret with the addresses of the store and the queue" $root.Values.secret.existingSecret }}
          items:
            {{- range $secrets }}
            - key: {{ get $root.Values.secret.keys . }}
              path: {{ get $root.Values.secret.keys . }}
            {{- end }}
      {{- end }}
      {{- with .keySecret }}
      - secret:
          name: {{ .secret }}
          items:
            - key: {{ .key }}
              path: worker-key
      {{- end }}
{{- end }}
{{- if and $root.Values.config (not .withoutConfig) }}
- name: config
  configMap:
    name: {{ include "drumline.fullname" $root }}
{{- end }}
{{- end -}}

{{/* What every pod has, whatever runs in it. Takes root, role, component, pool. */}}
{{- define "drumline.pod" -}}
{{- $root := .root -}}
{{- $selector := include "drumline.podSelector" . -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml $root.Values.podSecurityContext | nindent 2 }}
{{- with .role.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .role.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .role.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .role.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $root.Values.topologySpread.enabled }}
topologySpreadConstraints:
  {{- range $root.Values.topologySpread.keys }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: {{ $root.Values.topologySpread.whenUnsatisfiable }}
    labelSelector:
      matchLabels:
        {{- $selector | nindent 8 }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "drumline.podSelector" -}}
{{ include "drumline.selector" .root }}
app.kubernetes.io/component: {{ .component }}
{{- with .pool }}
drumline.io/pool: {{ . }}
{{- end }}
{{- end -}}

{{/* The head of a pod template: labels and annotations. */}}
{{- define "drumline.podMetadata" -}}
labels:
  {{- include "drumline.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
  {{- with .pool }}
  drumline.io/pool: {{ . }}
  {{- end }}
  {{- with .role.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $changed := and .root.Values.rollOnConfigChange .root.Values.config }}
{{- if or $changed .role.podAnnotations }}
annotations:
  {{- if $changed }}
  drumline.io/config: {{ toJson .root.Values.config | sha256sum | trunc 16 }}
  {{- end }}
  {{- with .role.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Of a role without a port: the main thread gets to run. */}}
{{/* The monitor port, where every role shows figures and health; roles without an API are probed there. */}}
{{- define "drumline.monitorPort" -}}
- name: monitor
  containerPort: {{ .Values.monitor.port }}
{{- end -}}

{{- define "drumline.probes" -}}
ports:
  {{- include "drumline.monitorPort" . | nindent 2 }}
startupProbe:
  httpGet: {path: /livez, port: monitor}
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 60
readinessProbe:
  httpGet: {path: /readyz, port: monitor}
  periodSeconds: 5
  timeoutSeconds: 4
  failureThreshold: 3
livenessProbe:
  httpGet: {path: /livez, port: monitor}
  periodSeconds: 15
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

{{- define "drumline.disruption" -}}
{{- if .role.disruption }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "drumline.fullname" .root }}-{{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "drumline.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  {{- toYaml .role.disruption | nindent 2 }}
  selector:
    matchLabels:
      {{- include "drumline.podSelector" . | nindent 6 }}
{{- end }}
{{- end -}}
