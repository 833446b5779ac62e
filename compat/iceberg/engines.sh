# What run, s3.run, rest.run and spark.run begin with: source it. Sets TEMP, a folder that goes when the script ends, and
# the working directory to the top of the project.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CGO_ENABLED=0 GOFLAGS=-buildvcs=false PYTHONDONTWRITEBYTECODE=1 POLARS_ICEBERG_PLANNER=pyiceberg

TEMP=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$TEMP"' EXIT
step() { printf '\n=== %s (%ss)\n' "$*" "$SECONDS"; }

# Installs packages of PyPI beside those of requirements.txt, for $TEMP/venv/bin/python.
python_with() {
	python3 -m venv "$TEMP/venv" >"$TEMP/venv.log" 2>&1 || {
		apt-get update -qq && apt-get install -y -qq python3-venv
		rm -rf "$TEMP/venv"
		python3 -m venv "$TEMP/venv"
	}
	"$TEMP/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: -r compat/iceberg/requirements.txt
	[ $# -eq 0 ] || "$TEMP/venv/bin/pip" install --quiet --disable-pip-version-check "$@" # some of them have no wheels
}

# Installs Java 17 with its compiler, and Maven.
java_with_maven() {
	command -v mvn >/dev/null && command -v javac >/dev/null || { apt-get update -qq && apt-get install -y -qq maven openjdk-17-jdk-headless; }
}

DEPENDENCIES=org.apache.maven.plugins:maven-dependency-plugin:3.8.1

# Fetches GROUP:ARTIFACT:VERSION from Maven, and adds its file to JARS, comma between.
JARS=
jar() {
	mvn -q $DEPENDENCIES:copy -Dartifact="$1" -DoutputDirectory="$TEMP"
	local name=${1#*:}
	JARS=${JARS:+$JARS,}$TEMP/${name%:*}-${name##*:}.jar
}

# Starts an S3, moto of PyPI (python_with 'moto[s3,server]==5.2.5'), with a bucket named granary. Sets S3, its URL.
start_s3() {
	export AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret AWS_REGION=us-east-1
	S3=http://127.0.0.1:5917
	"$TEMP/venv/bin/moto_server" -H 127.0.0.1 -p 5917 >"$TEMP/moto.log" 2>&1 &
	"$TEMP/venv/bin/python" - "$S3" <<'PY'
import sys, boto3
from botocore.config import Config
client = boto3.client("s3", endpoint_url=sys.argv[1], config=Config(retries={"max_attempts": 20, "mode": "standard"}))
client.create_bucket(Bucket="granary")
PY
}

# Starts Iceberg's own REST catalog (rest/Catalog.java), with its tables in $TEMP/rest, or in the S3 of start_s3 if that was called. Sets
# REST, its URL.
start_rest() {
	REST=http://127.0.0.1:5918
	local tables=("file://$TEMP/rest/warehouse")
	if [ -n "${S3:-}" ]; then
		tables=("s3://granary/rest" "$S3")
		jar org.apache.iceberg:iceberg-aws:1.11.0
		jar dev.failsafe:failsafe:3.3.2
		jar org.apache.iceberg:iceberg-aws-bundle:1.11.0
	fi
	mvn -q -f compat/iceberg/rest/pom.xml $DEPENDENCIES:build-classpath -Dmdep.outputFile="$TEMP/classpath"
	mkdir "$TEMP/rest"
	java -cp "$(cat "$TEMP/classpath"):${JARS//,/:}" compat/iceberg/rest/Catalog.java 5918 "$TEMP/rest/catalog.db" "${tables[@]}" >"$TEMP/rest.log" 2>&1 &
	for _ in $(seq 300); do
		grep -q listening "$TEMP/rest.log" && return
		sleep 0.1
	done
	cat "$TEMP/rest.log"
	exit 1
}
