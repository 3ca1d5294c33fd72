#!/usr/bin/env bash
# real-web.sh PACKAGES DIR [PORT]: serves Debian's documentation packages on loopback by nginx, with gzip, until it is killed.
# PACKAGES is where `scripts/deps.sh --unpack` put nginx and the documentation; nothing is installed and no service started.
# DIR gets nginx's files and access.log. Prints the first page of each site, one line each.
#
# Each site has an address of its own (127.0.0.11 and up), since crawlers tell hosts apart by address or name and some by
# nothing else. One process without a master, so that whoever kills it leaves nothing behind.
set -euo pipefail
packages=$(realpath "$1") port=${3:-8190}
mkdir -p "$2"
dir=$(realpath "$2")

nginx=$packages/usr/sbin/nginx
[[ -x $nginx ]] || { echo "There is no nginx in $packages; make deps-pages puts it there." >&2; exit 1; }
# The folder of each package that holds its HTML, by its first page.
doc=$packages/usr/share/doc
roots=("$doc/python3.11/html" "$doc/postgresql-doc-15/html" "$doc/git-doc" "$doc/sqlite3")

mkdir -p "$dir/temporary"
servers= urls= address=11
for root in "${roots[@]}"; do
  [[ -e $root/index.html ]] || { echo "There is no $root/index.html; is its package unpacked?" >&2; exit 1; }
  servers+="  server { listen 127.0.0.$address:$port backlog=1024; root $root; }"$'\n'
  urls+="http://127.0.0.$address:$port/"$'\n'
  ((++address))
done

# Redirects to folders are written without the host, because wget2 leaves the port out of the Host field.
cat >"$dir/nginx.conf" <<CONF
daemon off;
master_process off;
pid $dir/nginx.pid;
error_log $dir/error.log;
events { worker_connections 4096; }
http {
  include $packages/etc/nginx/mime.types;
  default_type application/octet-stream;
  charset utf-8;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000;
  absolute_redirect off;
  gzip on;
  gzip_types text/plain text/css application/javascript application/json application/xml image/svg+xml;
  log_format counted '\$msec \$server_addr \$status \$body_bytes_sent \$sent_http_content_type|\$request_uri';
  access_log $dir/access.log counted;
  client_body_temp_path $dir/temporary/body;
  proxy_temp_path $dir/temporary/proxy;
  fastcgi_temp_path $dir/temporary/fastcgi;
  uwsgi_temp_path $dir/temporary/uwsgi;
  scgi_temp_path $dir/temporary/scgi;
$servers}
CONF
: >"$dir/access.log"
"$nginx" -q -t -p "$dir" -c "$dir/nginx.conf" -e "$dir/error.log"
printf '%s' "$urls"
exec "$nginx" -p "$dir" -c "$dir/nginx.conf" -e "$dir/error.log"
