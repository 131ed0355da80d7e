import { Link } from "@tanstack/react-router";
import { Empty } from "@/parts/States";
import { texts } from "@/texts";

export function NotFound() {
  return (
    <Empty title={texts.pages.pageNotFound}>
      <Link to="/tasks">{texts.pages.allTasks}</Link>
    </Empty>
  );
}
