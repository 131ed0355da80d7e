import { Link } from "@tanstack/react-router";
import { Empty } from "@/parts/States";
import { texts } from "@/texts";

export function NotFound() {
  return (
    <Empty title={texts.pages.pageNotFound}>
      <p>{texts.pages.thereIsNoPage}</p>
      <p>
        <Link to="/overview">{texts.overview.overview}</Link> · <Link to="/tasks">{texts.pages.allTasks}</Link>
      </p>
    </Empty>
  );
}
